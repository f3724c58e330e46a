create function preauth._write_correction(target preauth.budget_window, amount bigint, request jsonb, at timestamptz, actor text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  budget preauth.budget;
  key constant text := coalesce(request ->> 'idempotency_key', (request ->> 'call') || ':' || gen_random_uuid());
  after preauth.budget_window;
  reply jsonb;
begin
  select b.* into budget from preauth.budget as b where b.budget_id = target.budget_id;
  if amount <> 0 then
    perform preauth._correct_settled(target.window_id, amount, at);
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    values (target.account_id, key, 'adjustment', target.window_id, jsonb_build_object(budget.unit, amount), at, coalesce(actor, preauth._caller()), request ->> 'reason');
  end if;
  select w.* into after from preauth.budget_window as w where w.window_id = target.window_id;
  perform preauth._log_change(actor, 'window', target.account_id || '/' || budget.name || '/' || target.window_key,
    preauth._figures_json(target, budget, at), preauth._figures_json(after, budget, at), request ->> 'reason');
  reply := jsonb_build_object('account_id', target.account_id, 'budget', budget.name, 'unit', budget.unit, 'window', target.window_key, 'amount', amount,
      'reason', request -> 'reason', 'idempotency_key', request -> 'idempotency_key', 'adjusted_at', preauth._time(at), 'replayed', false)
    || preauth._figures_json(after, budget, at);
  if request ? 'idempotency_key' then
    insert into preauth.correction (account_id, idempotency_key, body, reply, corrected_at)
    values (target.account_id, key, request, reply, at);
  end if;
  return reply;
end
$$;
comment on function preauth._write_correction(preauth.budget_window, bigint, jsonb, timestamptz, text) is
  'Moves the settled amount of a locked window by a signed amount in the budget''s unit, with its event and its entry in the change log; the reply.';

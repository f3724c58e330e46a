create function preauth._put_max_open_holds(account_id text, max_open_holds integer, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if max_open_holds is not null then
    perform preauth._put_budget(null, account_id, jsonb_build_object(
      'name', 'max_open_holds', 'unit', 'open_holds', 'window', '{"kind": "lifetime"}'::jsonb, 'limit_amount', max_open_holds, 'on_expiry', 'release'),
      'now', actor, reason);
  else
    perform preauth._retire_budget(b.budget_id, actor, reason)
    from preauth.budget as b where b.owner = 'account:' || _put_max_open_holds.account_id and b.name = 'max_open_holds' and b.retired_at is null;
  end if;
end
$$;
comment on function preauth._put_max_open_holds(text, integer, text, text) is 'Keeps the bound on open holds as a lifetime budget of unit open_holds, so that concurrency is decided with the other budgets. A slot lapses with its hold''s time.';

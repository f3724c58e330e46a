create function preauth_api.adjust(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(preauth._correct('adjust', account_id, body, actor));
end
$$;
comment on function preauth_api.adjust(text, jsonb, text) is
  'Corrects what a window of an account counts as settled. body: {budget, amount (signed, in the budget''s unit, not 0), reason, idempotency_key, window: its key (the current one if left out)}. Nothing that was settled is rewritten: it is an adjustment usage event of its own. The same key and body again give the first reply, replayed; another body is a 409 request_id_conflict. Returns the window''s figures, or a problem with nothing written.';

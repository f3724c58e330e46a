create function preauth_api.reset(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(preauth._correct('reset', account_id, body, actor));
end
$$;
comment on function preauth_api.reset(text, jsonb, text) is
  'Adjusts a window of an account to nothing settled; what is held stays held. body: {budget, reason, window: its key (the current one if left out), idempotency_key (optional: with it, a retry moves nothing)}. Returns the window''s figures and the amount, or a problem with nothing written.';

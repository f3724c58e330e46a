create function preauth_api.put_raise(account_id text, name text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._raise_errors(body, preauth._now());
  before jsonb;
  raised_unit text;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  at := preauth._begin_change(array[account_id], null, array[name]);
  select (b.budget).unit into raised_unit
  from preauth._budgets_of(array[account_id], at) as b where (b.budget).name = put_raise.name and (b.budget).unit <> 'open_holds';
  if raised_unit is null then
    return preauth._answered(preauth._no_budget_applies(account_id, name));
  end if;
  -- routes that were worked out before do not know when the raise ends
  update preauth.configuration set version = version + 1;
  before := preauth._raise_json(account_id, name);
  insert into preauth.limit_raise (account_id, name, unit, amount, expires_at, created_at)
  values (put_raise.account_id, put_raise.name, raised_unit, (body ->> 'amount')::bigint, (body ->> 'expires_at')::timestamptz, at)
  on conflict on constraint limit_raise_pkey do update set unit = excluded.unit, amount = excluded.amount, expires_at = excluded.expires_at;
  perform preauth._raise_window(account_id, name, at, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, preauth._raise_json(account_id, name), body ->> 'reason');
  return preauth._answered(preauth._raise_json(account_id, name));
end
$$;
comment on function preauth_api.put_raise(text, text, jsonb, text) is
  'Raises the limit of an account''s budget, its own or its plan''s, until an instant: the current window and those made until then have so much more. body: {amount in the budget''s unit, expires_at, reason}. A budget of that name in another unit is not raised. It ends by itself at the very instant. One raise a budget: another replaces it. Returns it, or a problem with nothing written.';

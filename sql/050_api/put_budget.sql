create function preauth_api.put_budget(account_id text, name text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  budget jsonb := case when jsonb_typeof(body) = 'object' then body - array['apply', 'reason'] || jsonb_build_object('name', put_budget.name) end;
  errors jsonb := preauth._budget_errors('', budget);
  after jsonb;
  at timestamptz;
begin
  if budget is not null then
    errors := errors || preauth._change_body_errors(body);
    if body ? 'name' and body -> 'name' <> to_jsonb(put_budget.name) then
      errors := errors || preauth._error('name', 'differs from the name in the path');
    end if;
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  at := preauth._begin_change(array[account_id], null, array[put_budget.name]);
  if not exists (select from preauth.account as a where a.account_id = put_budget.account_id) then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', put_budget.account_id)));
  end if;
  after := preauth._put_budget(null, account_id, budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason');
  perform preauth._take_up(account_id, coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
  return preauth._answered(after);
end
$$;
comment on function preauth_api.put_budget(text, text, jsonb, text) is
  'Makes or changes an account''s own budget. body: a budget without name, and apply (now, default, or next_window) and reason. Where it replaces a budget of the plan that counts the same, it takes up its current window. Returns the budget, or a problem with nothing written.';

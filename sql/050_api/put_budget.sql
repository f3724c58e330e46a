create function preauth_api.put_budget(account_id text, name text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  budget jsonb := case when jsonb_typeof(body) = 'object' then body - array['apply', 'reason'] || jsonb_build_object('name', put_budget.name) end;
  errors jsonb := preauth._budget_errors('', budget);
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
  perform preauth._lock_configuration();
  perform from preauth.account as a where a.account_id = put_budget.account_id for no key update;
  if not found then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', put_budget.account_id)));
  end if;
  return preauth._answered(preauth._put_budget(null, account_id, budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason'));
end
$$;
comment on function preauth_api.put_budget(text, text, jsonb, text) is
  'Makes or changes an account''s own budget. body: a budget without name, and apply (now, default, or next_window) and reason. Returns the budget, or a problem with nothing written.';

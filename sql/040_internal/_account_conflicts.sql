create function preauth._account_conflicts(account_id text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  parent preauth.account;
  height integer;
begin
  if body ->> 'plan_id' is not null and not exists (select from preauth.plan as p where p.plan_id = body ->> 'plan_id') then
    return preauth._problem('reference_unknown', format('There is no plan %s.', body ->> 'plan_id'), '{"field": "plan_id"}');
  end if;
  if body ->> 'parent_id' is null then
    return null;
  end if;
  select a.* into parent from preauth.account as a where a.account_id = body ->> 'parent_id';
  if parent.account_id is null then
    return preauth._problem('reference_unknown', format('There is no account %s.', body ->> 'parent_id'), '{"field": "parent_id"}');
  end if;
  if _account_conflicts.account_id = any (parent.path) then
    return preauth._problem('parent_cycle', format('Account %s is at or below %s.', parent.account_id, account_id), '{"field": "parent_id"}');
  end if;
  select coalesce(max(array_position(d.path, _account_conflicts.account_id)), 1) into height from preauth.account as d where d.path @> array[_account_conflicts.account_id];
  if height + cardinality(parent.path) > 16 then
    return preauth._problem('account_too_deep', 'The tree of accounts would be more than 16 deep.', '{"field": "parent_id"}');
  end if;
  return null;
end
$$;
comment on function preauth._account_conflicts(text, jsonb) is 'Why a well-formed account cannot be put, as a problem; null when it can.';

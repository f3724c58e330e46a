create function preauth_api.put_account(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._account_errors(account_id, body);
  problem jsonb;
  before jsonb;
  wanted jsonb;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  -- the tree is changed by one call at a time; decisions only read it
  lock table preauth.account in share row exclusive mode;
  problem := preauth._account_conflicts(account_id, body);
  if problem is not null then
    return preauth._answered(problem);
  end if;
  at := preauth._begin_change(array[account_id], array[body ->> 'plan_id'], array['max_open_holds']);
  before := preauth._account_json(account_id);
  wanted := coalesce(before, '{"time_zone": "UTC", "status": "active"}') || body;
  insert into preauth.account (account_id, path, time_zone, status, created_at)
  values (put_account.account_id, array[put_account.account_id], 'UTC', 'active', preauth._now())
  on conflict do nothing;
  if (before ->> 'parent_id') is distinct from (wanted ->> 'parent_id') then
    perform preauth._move_account(account_id, wanted ->> 'parent_id');
  end if;
  update preauth.account as a
  set time_zone = coalesce(wanted ->> 'time_zone', 'UTC'), cycle_anchor = (wanted ->> 'cycle_anchor')::date,
    status = wanted ->> 'status', max_open_holds = (wanted ->> 'max_open_holds')::integer
  where a.account_id = put_account.account_id;
  if body ? 'plan_id' then
    perform preauth._change_plan(account_id, body ->> 'plan_id', 'now', at, actor, body ->> 'reason');
  end if;
  perform preauth._put_max_open_holds(account_id, (wanted ->> 'max_open_holds')::integer, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$$;
comment on function preauth_api.put_account(text, jsonb, text) is
  'Makes an account or changes it. body: {plan_id, parent_id, time_zone, cycle_anchor, status, max_open_holds, reason}; what is left out stays as it is, null clears. Another plan_id applies at once, as by switch_plan. Returns the account, or a problem with nothing written.';

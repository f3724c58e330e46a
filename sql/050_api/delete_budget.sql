create function preauth_api.delete_budget(account_id text, name text, actor text default null, reason text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  at timestamptz := preauth._begin_change(array[account_id], null);
  live bigint;
  retired_at timestamptz;
begin
  select b.budget_id into live from preauth.budget as b
  where b.owner = 'account:' || delete_budget.account_id and b.name = delete_budget.name and b.unit <> 'open_holds' and b.retired_at is null;
  if live is null then
    return preauth._answered(preauth._problem('budget_unknown', format('Account %s has no budget %s.', account_id, name)));
  end if;
  retired_at := preauth._retire_budget(live, actor, reason);
  perform preauth._take_up(account_id, 'now', at, actor, reason);
  return preauth._answered(jsonb_build_object('account_id', account_id, 'name', name, 'retired_at', preauth._time(retired_at)));
end
$$;
comment on function preauth_api.delete_budget(text, text, text, text) is
  'Retires an account''s own budget: it no longer applies, its history is kept. A budget of the plan that counts the same applies again, and takes up its current window.';

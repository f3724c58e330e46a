create function preauth._window_to_correct(account_id text, budget_name text, window_key text, at timestamptz) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  found bigint;
begin
  if window_key is not null then
    select w.window_id into found
    from preauth.budget as b
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.account_id = _window_to_correct.account_id and w.window_key = _window_to_correct.window_key
    where b.name = budget_name and b.unit <> 'open_holds' and (b.account_id = _window_to_correct.account_id or b.plan_id is not null)
    order by b.retired_at is not null, w.window_id desc
    limit 1;
    return found;
  end if;
  perform preauth._make_windows(array[b.depth], array[b.scope], array[b.zone], array[b.budget], array[b.counter_id], at)
  from preauth._budgets_of(array[account_id], at) as b
  where (b.budget).name = budget_name and (b.budget).unit <> 'open_holds' and not exists (select from preauth._current_window(b.scope, b.counter_id, at));
  select c.window_id into found
  from preauth._budgets_of(array[account_id], at) as b
  cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
  where (b.budget).name = budget_name and (b.budget).unit <> 'open_holds';
  return found;
end
$$;
comment on function preauth._window_to_correct(text, text, text, timestamptz) is
  'The window that a correction means: the one with that key, or the current one, which is made if nothing was spent in it yet; null if there is none. The account is locked.';

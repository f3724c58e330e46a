create function preauth._verify_tree() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'account_path_is_its_parents_plus_itself', a.account_id, null::bigint, null::text, (a.account_id || p.path)::text, a.path::text
  from preauth.account as a
  join preauth.account as p on p.account_id = a.parent_id
  where a.path <> a.account_id || p.path
  union all
  select 'windows_of_a_budget_do_not_overlap', w.account_id, w.window_id, null::text, 'starts at or after ' || w.previous_ends_at, w.starts_at::text
  from (
    select x.*, max(x.ends_at) over (partition by x.account_id, x.budget_id order by x.starts_at rows between unbounded preceding and 1 preceding) as previous_ends_at
    from preauth.budget_window as x
  ) as w
  where w.starts_at < w.previous_ends_at
$$;
comment on function preauth._verify_tree() is 'Accounts whose path is not their parent''s plus themselves, and windows that overlap.';

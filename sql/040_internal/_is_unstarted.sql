-- Of what this very call has made: a raise that it has ended leaves an event.
create function preauth._is_unstarted(w preauth.budget_window, budget preauth.budget, made bigint[], slot_ids bigint[], reserved bigint[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(w.window_id = any (made), false) and w.reserved = 0 and coalesce(reserved[array_position(slot_ids, w.window_id)], 0) = 0 and (budget.window_policy ->> 'kind' = 'fixed' or budget.rollover is not null)
    and w.settled = coalesce((
      select (u.amounts ->> budget.unit)::bigint from preauth.usage_event as u
      where u.window_id = w.window_id and u.kind = 'adjustment' and u.actor = 'rollover'), 0)
    and not exists (select from preauth.usage_event as u where u.window_id = w.window_id and u.kind = 'limit_changed')
$$;
comment on function preauth._is_unstarted(preauth.budget_window, preauth.budget, bigint[], bigint[], bigint[]) is
  'Whether a window of a batch will be taken back at its end (preauth._close_unstarted_windows) because nothing is held on it.';

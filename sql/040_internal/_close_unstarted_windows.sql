-- Only what this very call has made: no other call has such a window on a route of its own yet, and nobody has seen what is taken back with it.
create function preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  unstarted bigint[];
begin
  if cardinality(made) > 0 then
    unstarted := array(
      select w.window_id
      from preauth.budget_window as w
      join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (made) and (b.window_policy ->> 'kind' = 'fixed' or b.rollover is not null)
        and w.window_id not in (select slot_ids[l.slot] from unnest(lines) as l where l.n = any (recorded)));
    if cardinality(unstarted) > 0 then
      delete from preauth.outbox as o where o.window_id = any (unstarted);
      delete from preauth.usage_event as u where u.window_id = any (unstarted);
      delete from preauth.budget_window as w where w.window_id = any (unstarted);
    end if;
  end if;
end
$$;
comment on function preauth._close_unstarted_windows(bigint[], preauth._line[], integer[], bigint[]) is
  'Takes back windows that a batch has made and nothing was held on, where it matters when they begin: a denied request starts no fixed one, and does not settle what rolls over into one. What they began with (carried overspend, its threshold) goes with them.';

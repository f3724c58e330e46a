-- Only what this very call has made: no other call has such a window on a route of its own yet.
create function preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[]) returns void
language plpgsql
as $$
begin
  if cardinality(made) > 0 then
    delete from preauth.budget_window as w
    using preauth.budget as b
    where w.window_id = any (made) and b.budget_id = w.budget_id and b.window_policy ->> 'kind' = 'fixed' and w.settled = 0
      and w.window_id not in (select slot_ids[l.slot] from unnest(lines) as l where l.n = any (recorded));
  end if;
end
$$;
comment on function preauth._close_unstarted_windows(bigint[], preauth._line[], integer[], bigint[]) is
  'Takes back the fixed windows that a batch has made and nothing was held on: a denied request starts none. One that begins with overspend of the window before stays.';

-- Who waited for a change of budgets sees its new budgets only in another statement: then all is locked, and looked at once more.
create function preauth._lock_tallies(window_ids bigint[]) returns preauth._tally[]
language plpgsql
as $$
declare
  tallies preauth._tally[] := array(
    select row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, w.settled, w.reserved, 0, 0)::preauth._tally
    from (
      select x.* from preauth.budget_window as x
      where x.window_id = any (window_ids)
      order by x.depth desc, x.account_id, x.window_id
      for no key update
    ) as w
    left join preauth.budget as b on b.budget_id = w.budget_id);
begin
  for k in 1 .. cardinality(tallies) loop
    if tallies[k].budget is null then
      return preauth._lock_tallies(window_ids);
    end if;
  end loop;
  return tallies;
end
$$;
comment on function preauth._lock_tallies(bigint[]) is 'Locks windows, in the order of preauth._lock_windows, and takes down their figures.';

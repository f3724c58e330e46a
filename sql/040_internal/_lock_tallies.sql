-- A budget that makes no leases now may have made some; one probe of their own index says so, and is no join that a plan could turn into reading all of them.
-- Who waited for a change of budgets sees its new budgets only in another statement: then all is locked, and looked at once more.
create function preauth._lock_tallies(window_ids bigint[], at timestamptz) returns preauth._tally[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  tallies preauth._tally[];
  unseen integer;
  rolls boolean;
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key,
    w.limit_amount - case when w.raised_until <= at then w.raised else 0 end, w.settled, w.reserved, 0, 0,
    case when w.slice_length is null then w.alert_at else -preauth._most_counted() * 4 end, case when b.on_expiry <> 'release'
      and (select true from preauth.hold_line as h where h.window_id = w.window_id and h.lapses_at is not null limit 1) is null then 0 end)::preauth._tally),
    count(*) filter (where b.budget_id is null), bool_or(w.slice_length is not null)
  into tallies, unseen, rolls
  from (
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.window_id
    for no key update
  ) as w
  left join preauth.budget as b on b.budget_id = w.budget_id;
  if unseen > 0 then
    return preauth._lock_tallies(window_ids, at);
  end if;
  if rolls and preauth._age(window_ids, at) then
    for k in 1 .. cardinality(tallies) loop
      tallies[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = tallies[k].window_id);
    end loop;
  end if;
  return tallies;
end
$$;
comment on function preauth._lock_tallies(bigint[], timestamptz) is 'Locks windows, in the order of preauth._lock_windows, and takes down their figures; a raise that has ended is none, and rolling windows are aged.';

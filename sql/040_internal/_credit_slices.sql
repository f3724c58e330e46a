-- What is left is counted as long as can be: a correction does not say when the wrong spend was.
create function preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  taken bigint;
  rest bigint;
begin
  with eldest as (
    select s.ages_at, least(s.settled, amount - (sum(s.settled) over (order by s.ages_at) - s.settled))::bigint as part
    from preauth.window_slice as s
    where s.window_id = w.window_id and s.settled > 0
  ), credits as (
    update preauth.window_slice as s
    set settled = s.settled - e.part, credited = s.credited + e.part
    from eldest as e
    where s.window_id = w.window_id and s.ages_at = e.ages_at and e.part > 0
    returning e.part
  )
  select coalesce(sum(c.part), 0) into taken from credits as c;
  rest := amount - taken;
  if rest > 0 then
    insert into preauth.window_slice as s (window_id, account_id, ages_at, settled, credited)
    values (w.window_id, w.account_id, preauth._ages_at(at, w.slice_length, w.slice_count), -rest, rest)
    on conflict (window_id, ages_at, account_id) do update set settled = s.settled - rest, credited = s.credited + rest;
  end if;
end
$$;
comment on function preauth._credit_slices(preauth.budget_window, bigint, timestamptz) is
  'Takes a correction''s amount from a locked rolling window''s slices, the eldest first, so that what remains spent ages out last; what is more than all of them is a credit for one period.';

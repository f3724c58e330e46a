create function preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into preauth.window_slice as s (window_id, account_id, ages_at, settled)
  select w.window_id, w.account_id, preauth._ages_at(at, w.slice_length, w.slice_count), m.amount
  from unnest(window_ids, amounts) as m (window_id, amount)
  join preauth.budget_window as w on w.window_id = m.window_id
  where w.slice_length is not null and m.amount <> 0
  on conflict (window_id, ages_at, account_id) do update set settled = s.settled + excluded.settled;
end
$$;
comment on function preauth._add_to_slices(bigint[], bigint[], timestamptz) is
  'Adds what was spent at an instant to that instant''s slice of each locked rolling window, in the budget''s unit; other windows are left alone. Each window comes once.';

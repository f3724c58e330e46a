create function preauth._is_sound_window(
  starts_at timestamptz, ends_at timestamptz, settled bigint, reserved bigint, limit_amount bigint, overdraft_amount bigint, alert_at bigint, slice_length interval, slice_count integer)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return starts_at < ends_at
    and settled between -7000000000000000000 and 7000000000000000000
    and reserved between 0 and 2000000000000000000
    and (limit_amount is null or limit_amount between 0 and 9007199254740991)
    and (overdraft_amount is null or overdraft_amount between 0 and 9007199254740991)
    and (alert_at is null or alert_at > 0)
    and (slice_length is null) = (slice_count is null);
end
$$;
comment on function preauth._is_sound_window(timestamptz, timestamptz, bigint, bigint, bigint, bigint, bigint, interval, integer) is
  'Whether a row of budget_window can be: it runs forward, its figures (in the budget''s unit) are in their ranges, and slices have both a length and a number.';

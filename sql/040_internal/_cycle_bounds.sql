create function preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamptz, out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  local_time timestamp := at at time zone zone;
  step integer := case policy ->> 'period' when 'year' then 12 else 1 end;
  elapsed integer := (extract(year from local_time) - extract(year from anchor)) * 12 + extract(month from local_time) - extract(month from anchor);
  first_month integer := floor(elapsed::numeric / step) * step;
begin
  if local_time < preauth._cycle_start(anchor, first_month) then
    first_month := first_month - step;
  end if;
  -- where clocks went back across a boundary, local time alone names the cycle before
  if at >= preauth._instant(preauth._cycle_start(anchor, first_month + step), zone) then
    first_month := first_month + step;
  end if;
  window_key := 'cycle:' || to_char(preauth._cycle_start(anchor, first_month), 'YYYY-MM-DD');
  starts_at := preauth._instant(preauth._cycle_start(anchor, first_month), zone);
  ends_at := preauth._instant(preauth._cycle_start(anchor, first_month + step), zone);
end
$$;
comment on function preauth._cycle_bounds(jsonb, date, text, timestamptz) is
  'The billing cycle around an instant. Each start is counted from the anchor itself, so that a 31st comes back after a shorter month.';

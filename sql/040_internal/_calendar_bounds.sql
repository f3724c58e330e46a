create function preauth._calendar_bounds(policy jsonb, zone text, at timestamptz, out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  local_start timestamp := preauth._period_start(policy, at at time zone zone);
  length interval := preauth._period_length(policy);
begin
  -- where clocks went back across a boundary, local time alone names the period before
  if at >= preauth._instant(local_start + length, zone) then
    local_start := local_start + length;
  end if;
  window_key := preauth._period_key(policy, local_start);
  starts_at := preauth._instant(local_start, zone);
  ends_at := preauth._instant(local_start + length, zone);
end
$$;
comment on function preauth._calendar_bounds(jsonb, text, timestamptz) is 'The calendar window around an instant: from local start to next local start in the zone, so that windows neither overlap nor leave a gap.';

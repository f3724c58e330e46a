create function preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamptz, out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  case policy ->> 'kind'
    when 'calendar' then
      select b.* into window_key, starts_at, ends_at from preauth._calendar_bounds(policy, zone, at) as b;
    when 'cycle' then
      select b.* into window_key, starts_at, ends_at from preauth._cycle_bounds(policy, anchor, zone, at) as b;
    when 'fixed' then
      starts_at := at;
      ends_at := at + make_interval(secs => (policy ->> 'seconds')::integer);
      window_key := 'fixed:' || preauth._time(at);
    when 'lifetime', 'rolling' then
      starts_at := '-infinity';
      ends_at := 'infinity';
      window_key := policy ->> 'kind';
  end case;
end
$$;
comment on function preauth._window_bounds(jsonb, date, text, timestamptz) is
  'Name and bounds of the window that a spend at an instant belongs to: the one place where kinds of windows are told apart. anchor: of the account''s cycles. A rolling window is one row that never ends; its slices age.';

create function preauth._line_lapse(slot preauth._slot, expires_at timestamptz, at timestamptz, out lapses_at timestamptz, out is_lease boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select
    case
      when expires_at is null then (select preauth._ages_at(at, w.slice_length, w.slice_count) from preauth.budget_window as w where w.window_id = slot.window_id)
      when slot.on_expiry = 'release' then expires_at
    end,
    expires_at is not null
$$;
comment on function preauth._line_lapse(preauth._slot, timestamptz, timestamptz) is
  'When a line that is about to be recorded gives back what it takes: a lease when it expires, a charge on a rolling window when its slice ages out; null: not by time alone.';

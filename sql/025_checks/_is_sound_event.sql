create function preauth._is_sound_event(kind text, window_id bigint) returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return kind in ('settlement', 'charge', 'late_charge', 'recorded_exception', 'adjustment', 'limit_changed')
    and (window_id is not null) = (kind in ('adjustment', 'limit_changed'));
end
$$;
comment on function preauth._is_sound_event(text, bigint) is
  'Whether a row of usage_event can be: its kind is known, and corrections and nothing else name a window.';

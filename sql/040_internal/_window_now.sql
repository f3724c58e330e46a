create function preauth._window_now(w preauth.budget_window) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  settled bigint := w.settled;
begin
  if w.window_id is null then
    return null;
  end if;
  if w.slice_length is not null then
    settled := preauth._settled_at(w, preauth._now());
  end if;
  return jsonb_build_object(
    'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
    'limit', w.limit_amount, 'settled', settled, 'reserved', w.reserved, 'available', w.limit_amount - settled - w.reserved);
end
$$;
comment on function preauth._window_now(preauth.budget_window) is 'A window with its figures as they are, in its budget''s unit; null for none.';

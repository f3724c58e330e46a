create function preauth._balance_window(scope text, zone text, budget preauth.budget, counter_id bigint, show_level boolean, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, counter_id, at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if w.window_id is null then
    w.reserved := 0;
    w.time_zone := zone;
    select b.window_key, b.starts_at, b.ends_at into w.window_key, w.starts_at, w.ends_at
    from preauth._next_window(scope, budget, zone, at) as b;
    select o.limit_amount, o.settled into w.limit_amount, w.settled
    from preauth._opening(scope, budget, zone, w.starts_at, w.ends_at, at) as o;
    if budget.window_policy ->> 'kind' = 'fixed' then
      w.window_key := null;
      w.starts_at := null;
      w.ends_at := null;
    end if;
  else
    w.limit_amount := preauth._limit_at(w, budget, at);
  end if;
  w.settled := preauth._settled_at(w, at);
  w.reserved := w.reserved - preauth._lapsed(w.window_id, at);
  return jsonb_build_object(
      'budget', budget.name, 'scope', scope, 'unit', budget.unit, 'model', budget.model, 'window', w.window_key, 'enforcement', budget.enforcement,
      'limit', w.limit_amount, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
      'resets_at', preauth._time(w.ends_at), 'time_zone', w.time_zone)
    || case when show_level then jsonb_build_object(
      'settled', w.settled, 'reserved', w.reserved, 'available', w.limit_amount - w.settled - w.reserved) else '{}' end;
end
$$;
comment on function preauth._balance_window(text, text, preauth.budget, bigint, boolean, timestamptz) is
  'A budget''s current window as a balance shows it. A fixed window that no spend has started yet has no bounds. A lapsed lease is not held, and what has aged out of a rolling window is not settled.';

create function preauth._correct_settled(window_id bigint, amount bigint, at timestamptz) returns preauth.budget_window
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window;
begin
  perform preauth._age(array[window_id], at);
  update preauth.budget_window as x set settled = x.settled + amount where x.window_id = _correct_settled.window_id returning x.* into w;
  if w.slice_length is not null then
    if amount > 0 then
      perform preauth._add_to_slices(array[w.window_id], array[amount], at);
    else
      perform preauth._credit_slices(w, -amount, at);
    end if;
  end if;
  if w.settled >= w.alert_at then
    perform preauth._raise_alerts(array[w.window_id], at);
  end if;
  return w;
end
$$;
comment on function preauth._correct_settled(bigint, bigint, timestamptz) is
  'Moves what a locked window counts as settled by an adjustment''s signed amount, in the budget''s unit, thresholds included; the window after. The usage event of the same instant is its caller''s.';

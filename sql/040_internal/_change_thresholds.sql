create function preauth._change_thresholds(budget_id bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
  window_ids bigint[] := array(
    select w.window_id from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c where c.budget_id = _change_thresholds.budget_id and c.ends_at > at)) as w);
begin
  perform preauth._raise_alerts(window_ids, at);
end
$$;
comment on function preauth._change_thresholds(bigint) is 'Holds a budget''s current windows against its thresholds, which have changed.';

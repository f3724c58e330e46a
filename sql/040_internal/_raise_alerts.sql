create function preauth._raise_alerts(window_ids bigint[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(cardinality(window_ids), 0) = 0 then
    return;
  end if;
  perform preauth._age(window_ids, at);
  with found as materialized (
    select * from preauth._due_alerts(window_ids, at)
  ), told as (
    insert into preauth.outbox (account_id, topic, window_id, threshold, occurrence, body, created_at, next_attempt_at)
    select w.account_id, 'threshold_reached', w.window_id, f.threshold, f.occurrence, preauth._alert_body(w, b, f.threshold, at), at, at
    from found as f
    join preauth.budget_window as w on w.window_id = f.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where f.is_due
    order by w.window_id, f.threshold
  )
  update preauth.budget_window as w
  set alert_at = n.level
  from (
    select i.window_id, min(f.level) filter (where f.may_come) as level
    from unnest(window_ids) as i (window_id) left join found as f on f.window_id = i.window_id
    group by i.window_id
  ) as n
  where w.window_id = n.window_id and w.alert_at is distinct from n.level;
end
$$;
comment on function preauth._raise_alerts(bigint[], timestamptz) is
  'Writes a message to the outbox for each threshold that what is settled on locked windows has reached, once a window and threshold, and notes at what amount the next is due. To be called when settled has reached alert_at, and when a limit or the thresholds have changed.';

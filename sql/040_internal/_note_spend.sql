create function preauth._note_spend(closed preauth._closed[], at timestamptz) returns void
language plpgsql
as $$
declare
  rolling bigint[];
  amounts bigint[];
  alerting bigint[];
begin
  select array_agg(w.window_id) filter (where w.slice_length is not null), array_agg(s.amount) filter (where w.slice_length is not null),
    array_agg(w.window_id) filter (where w.settled >= w.alert_at)
  into rolling, amounts, alerting
  from (select c.window_id, sum(c.settled_amount)::bigint as amount from unnest(closed) as c where c.settled_amount > 0 group by c.window_id) as s
  join preauth.budget_window as w on w.window_id = s.window_id;
  if rolling is not null then
    perform preauth._add_to_slices(rolling, amounts, at);
  end if;
  if alerting is not null then
    perform preauth._raise_alerts(alerting, at);
  end if;
end
$$;
comment on function preauth._note_spend(preauth._closed[], timestamptz) is 'What was just spent on locked windows goes into the slices of those that roll, and is told where it reaches a threshold.';

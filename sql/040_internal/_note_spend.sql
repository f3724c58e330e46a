create function preauth._note_spend(tallies preauth._tally[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._add_to_slices(array(select t.window_id from unnest(tallies) as t), array(select t.spent from unnest(tallies) as t), at);
  perform preauth._raise_alerts(array(
    select w.window_id from unnest(tallies) as t
    join preauth.budget_window as w on w.window_id = t.window_id
    where t.spent > 0 and w.settled >= w.alert_at), at);
end
$$;
comment on function preauth._note_spend(preauth._tally[], timestamptz) is 'What was just spent on locked windows goes into the slices of those that roll, and is told where it reaches a threshold.';

create function preauth._release(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  closed preauth._closed[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := preauth._close_lines(array(
    select row(l.request_id, l.account_id, l.position, l.window_id, 'released', null)::preauth._closing
    from unnest(asks) as a
    join preauth.hold_line as l on l.request_id = a.request_id and l.account_id = a.account_id
    where l.state = 'held'
    order by a.n, l.position), at);
  perform preauth._note(a, 'released', jsonb_build_object('reason', a.body -> 'reason'), at) from unnest(asks) as a;
  return query
    with replies as materialized (
      select * from preauth._release_replies(asks, closed, at)
    ), states as (
      update preauth.reservation as x
      set state = 'released', closure = r.reply
      from replies as r
      join unnest(asks) as a on a.n = r.n
      where x.request_id = a.request_id and x.account_id = a.account_id
    )
    select r.n, 200, null::json, r.reply::json, null::text from replies as r;
end
$$;
comment on function preauth._release(preauth._ask[], timestamptz) is 'Gives back what locked reservations hold: lines and windows, events, states, replies.';

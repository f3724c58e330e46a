create function preauth._release(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns setof preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  closed preauth._closed[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := preauth._close_lines(array(
    select row(held[h.place].created_at, asks[h.place].request_id, asks[h.place].account_id, h.position, h.window_id, 'released', null)::preauth._closing
    from unnest(preauth._holdings(held)) as h
    where h.state = 'held'
    order by asks[h.place].n, h.position), at);
  perform preauth._note(a, 'released', jsonb_build_object('reason', a.body -> 'reason'), at) from unnest(asks) as a;
  return query
    with replies as materialized (
      select * from preauth._release_replies(asks, closed, at)
    ), states as (
      update preauth.reservation as x
      set state = 'released', closure = r.reply
      from replies as r
      join unnest(asks) as a on a.n = r.n
      cross join lateral (
        select k.ctid from preauth.reservation as k
        where k.request_id = a.request_id and k.account_id = a.account_id
        offset 0  -- one look-up by key for each, however few rows the planner has seen
      ) as place
      where x.ctid = place.ctid
    )
    select r.n, 200, null::json, r.reply::json, null::text from replies as r;
end
$$;
comment on function preauth._release(preauth._ask[], preauth.reservation[], timestamptz) is 'Gives back what locked reservations hold (held: each ask''s): lines and windows, events, states, replies.';

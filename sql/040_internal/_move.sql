create function preauth._move(closed preauth._closed[]) returns setof preauth._closed
language plpgsql
as $$
begin
  return query
    with step as (
      select c.*, c.ordinality as place,
        case when c.was = 'held' then c.amount else 0 end as freed,
        coalesce(c.settled_amount, 0) as spent
      from unnest(closed) with ordinality as c
    ), moved as (
      update preauth.budget_window as w
      set reserved = w.reserved - t.freed, settled = w.settled + t.spent
      from (select s.window_id, sum(s.freed)::bigint as freed, sum(s.spent)::bigint as spent from step as s group by s.window_id) as t
      where w.window_id = t.window_id
      returning w.window_id, w.settled, w.reserved, w.limit_amount
    )
    select s.request_id, s.account_id, s.position, s.window_id, s.was, s.late, s.amount, s.settled_amount,
      (m.settled - sum(s.spent) over ahead + s.spent)::bigint,
      (m.reserved + sum(s.freed) over ahead - s.freed)::bigint,
      m.limit_amount
    from step as s
    join moved as m on m.window_id = s.window_id
    window ahead as (partition by s.window_id order by s.place desc)
    order by s.place;
end
$$;
comment on function preauth._move(preauth._closed[]) is 'One update a window for all lines just closed on it; the lines with the figures after each, in their order.';

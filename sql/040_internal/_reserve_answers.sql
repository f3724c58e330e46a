create function preauth._reserve_answers(
  asks preauth._ask[], routes preauth._route[], slots preauth._slot[], reserved bigint[],
  rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamptz)
returns setof preauth._answer
language plpgsql
as $$
declare
  slot_ids bigint[] := array(select s.window_id from unnest(slots) as s);
  item record;
begin
  for item in
    select a as ask, r as ruling, l.lines,
      array(select array_position(slot_ids, w) from unnest(t.window_ids) as w) as places,
      a.dry_run or r.n = any (recorded) as is_fresh
    from unnest(rulings) as r
    join unnest(asks) as a on a.n = r.n
    left join unnest(routes) as t on t.account_id = a.account_id and t.model is not distinct from (a.body ->> 'model')
    left join (select x.n, array_agg(x) as lines from unnest(lines) as x group by x.n) as l on l.n = r.n
    order by r.n
  loop
    if (item.ruling).verdict in ('malformed', 'forbidden', 'amount_missing') then
      return next preauth._problem_answer((item.ask).n, preauth._refusal(item.ask, (item.ruling).verdict, (item.ruling).detail));
    elsif item.is_fresh and (item.ruling).verdict <> 'recorded' then
      return next preauth._fresh_answer(item.ask, item.ruling, item.lines, slots, item.places, reserved, at);
    else
      return next preauth._recorded_answer(item.ask, at);
    end if;
  end loop;
end
$$;
comment on function preauth._reserve_answers(preauth._ask[], preauth._route[], preauth._slot[], bigint[], preauth._ruling[], preauth._line[], integer[], timestamptz) is
  'The answers of a batch, in its order.';

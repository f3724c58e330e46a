create function preauth._take_back(wishes preauth._wish[], filled preauth._filled[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.budget_window as w
  set reserved = w.reserved - h.amount
  from (
    select l.window_id, sum(l.amount)::bigint as amount
    from (select unnest((x.route).window_ids) as window_id, unnest(x.amounts) as amount from unnest(wishes) as x) as l
    join unnest(filled) as f on f.window_id = l.window_id
    group by l.window_id
  ) as h
  where w.window_id = h.window_id;
end
$$;
comment on function preauth._take_back(preauth._wish[], preauth._filled[]) is 'Gives back what wishes hold on windows that preauth._fill filled.';

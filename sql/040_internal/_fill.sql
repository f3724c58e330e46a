create function preauth._fill(wishes preauth._wish[], at timestamptz) returns preauth._filled[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  filled preauth._filled[];
begin
  with moved as (
    update preauth.budget_window as w
    set reserved = w.reserved + h.amount
    from (
      select l.window_id, sum(l.amount)::bigint as amount
      from (select unnest((x.route).window_ids) as window_id, unnest(x.amounts) as amount from unnest(wishes) as x) as l
      group by l.window_id
    ) as h
    where w.window_id = h.window_id and h.amount <= least(w.limit_amount + w.overdraft_amount, preauth._most_counted()) - w.settled - w.reserved
    returning row(w.window_id, w.account_id, w.window_key, w.limit_amount, w.limit_amount - w.settled - w.reserved + h.amount,
      concat('\";q=', least(w.limit_amount, 999999999999999),
        case when isfinite(w.ends_at) or w.slice_length is not null
          then concat(';w=', ceil(date_part('epoch', coalesce(w.slice_length * w.slice_count, w.ends_at - w.starts_at)))) end),
      case when isfinite(w.ends_at) then concat(';t=', greatest(ceil(date_part('epoch', w.ends_at - at)), 0)) end)::preauth._filled as filled
  )
  select array_agg(m.filled) into filled from moved as m;
  return coalesce(filled, '{}');
end
$$;
comment on function preauth._fill(preauth._wish[], timestamptz) is
  'Holds what wishes amount to on the locked windows: one conditional update a window, of all or of nothing; the windows that had room.';

-- What is not granted goes in as well, and out again, to be decided: so all keys of the batch are taken in their order. Were those of the rest taken after the others, two
-- batches with the same keys on other windows (a retry, after a window has ended) could wait for each other in a ring.
create function preauth._record_wishes(wishes preauth._wish[], granted preauth._wish[], at timestamptz) returns preauth._wish[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  request_ids text[];
  account_ids text[];
begin
  with recorded as (
    insert into preauth.reservation (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, ceilings, price_table_ids)
    select w.request_id, w.account_id, 'reserve', w.body, 'authorized', w.body ->> 'model', 0, w.on_expiry, at, at + make_interval(secs => w.ttl_seconds), w.actor, w.ceilings, w.price_table_ids
    from unnest(wishes) as w
    order by w.request_id, w.account_id, w.n
    on conflict do nothing
    returning request_id, account_id
  )
  select array_agg(r.request_id), array_agg(r.account_id) into request_ids, account_ids from recorded as r;
  if cardinality(granted) < cardinality(wishes) then
    delete from preauth.reservation as r
    using unnest(request_ids, account_ids) as k (request_id, account_id)
    where r.request_id = k.request_id and r.account_id = k.account_id
      and (k.request_id, k.account_id) not in (select g.request_id, g.account_id from unnest(granted) as g);
  elsif cardinality(request_ids) = cardinality(wishes) then
    return wishes;
  end if;
  return array(
    select x.wish
    from (
      select w as wish, w.n, row_number() over (partition by w.request_id, w.account_id order by w.n) as turn
      from unnest(granted) as w
      join unnest(request_ids, account_ids) as r (request_id, account_id) on r.request_id = w.request_id and r.account_id = w.account_id
    ) as x
    where x.turn = 1
    order by x.n);
end
$$;
comment on function preauth._record_wishes(preauth._wish[], preauth._wish[], timestamptz) is
  'Records those wishes that are granted as authorized, but for those whose key is on record; what was recorded: of wishes with one key the first. The keys of all wishes are taken, in their order.';

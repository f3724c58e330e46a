create function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]) returns setof preauth._answer
language plpgsql
as $$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
  places integer[];
begin
  if not items @? '$[*].dry_run' then
    return query select * from preauth._take(asks);
    return;
  end if;
  -- rehearsals first: they give their locks back, so that the others are locked in one go
  return query select r.* from unnest(asks) as a cross join lateral preauth._rehearse(a) as r where a.dry_run;
  places := array(select a.n from unnest(asks) as a where not a.dry_run order by a.n);
  return query
    select places[t.n], t.status, t.headers, t.body, t.root
    from preauth._take(array(
      select preauth._numbered(a, (row_number() over (order by a.n))::integer) from unnest(asks) as a where not a.dry_run)) as t;
end
$$;
comment on function preauth._reserve_batch(text, jsonb, text[], text[]) is 'Checks and takes a batch of reserve or charge calls. The answers are not in the order of the items.';

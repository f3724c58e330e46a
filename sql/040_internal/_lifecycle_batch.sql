create function preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[]) returns setof preauth._answer
language plpgsql
as $$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
  answers preauth._answer[];
  turn preauth._ask[];
  at timestamptz;
begin
  select
    array_agg(preauth._problem_answer(a.n, preauth._lifecycle_refusal(a, l.problem))) filter (where l.problem is not null),
    array_agg(row(a.n, a.call, a.request_id, l.account_id, a.body, a.actor, a.within, a.dry_run, false, null)::preauth._ask order by a.n)
      filter (where l.problem is null)
  into answers, asks
  from unnest(asks) as a
  cross join lateral preauth._locate(a) as l;
  at := preauth._lock_reservations(asks);
  while cardinality(asks) > 0 loop
    turn := array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a order by a.request_id, a.account_id, a.n);
    turn := array(select t from unnest(turn) as t order by t.n);
    answers := answers || array(select r from preauth._lifecycle_round(call, turn, at) as r);
    asks := array(select a from unnest(asks) as a where a.n not in (select t.n from unnest(turn) as t) order by a.n);
  end loop;
  return query select a.* from unnest(answers) as a order by a.n;
end
$$;
comment on function preauth._lifecycle_batch(text, jsonb, text[], text[]) is
  'Takes a batch of settle, release, extend, cancel or resolve calls: check, find and lock their reservations, then take them in rounds in which no reservation comes twice.';

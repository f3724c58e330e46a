create function preauth._reserve_answers(
  asks preauth._ask[], routes preauth._route[], slots preauth._slot[], reserved bigint[],
  rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamptz)
returns setof preauth._answer
language plpgsql
as $$
declare
  answered integer;
begin
  return query select f.* from preauth._fresh_authorizations(asks, routes, slots, rulings, lines, recorded, at) as f;
  get diagnostics answered = row_count;
  if answered = cardinality(rulings) then
    return;
  end if;
  return query
    select o.* from unnest(rulings) as r
    join unnest(asks) as a on a.n = r.n
    cross join lateral preauth._other_answer(a, r, routes, slots, reserved, a.n = any (recorded), at) as o
    where r.verdict <> 'authorized' or a.n <> all (recorded);
end
$$;
comment on function preauth._reserve_answers(preauth._ask[], preauth._route[], preauth._slot[], bigint[], preauth._ruling[], preauth._line[], integer[], timestamptz) is
  'The answers of a batch: those authorized just now first, then the others.';

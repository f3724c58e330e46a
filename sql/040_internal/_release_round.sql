create function preauth._release_round(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  ready preauth._ask[] := array[]::preauth._ask[];
  f record;
begin
  for f in
    select a.n, a as ask, r.closure, preauth._release_verdict(a.call, r, at) as verdict
    from unnest(asks) as a
    join preauth.reservation as r on r.request_id = a.request_id and r.account_id = a.account_id
    order by a.n
  loop
    case f.verdict
      when 'release' then
        ready := ready || f.ask;
      when 'replay' then
        return next row(f.n, 200, null, (f.closure || '{"replayed": true}')::json, null)::preauth._answer;
      else
        return next preauth._problem_answer(f.n, preauth._lifecycle_refusal(f.ask, f.verdict));
    end case;
  end loop;
  return query select * from preauth._release(ready, at);
end
$$;
comment on function preauth._release_round(preauth._ask[], timestamptz) is 'Releases, or says why not: one call each on locked reservations that are all different.';

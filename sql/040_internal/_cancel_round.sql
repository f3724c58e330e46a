create function preauth._cancel_round(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  f record;
  code text;
begin
  for f in
    select a.n, a as ask, r as held from unnest(asks) as a
    join preauth.reservation as r on r.request_id = a.request_id and r.account_id = a.account_id
    order by a.n
  loop
    code := preauth._open_verdict(f.held, at);
    if code is not null then
      return next preauth._problem_answer(f.n, preauth._lifecycle_refusal(f.ask, code));
    else
      return next row(f.n, 200, null, preauth._cancel(f.ask, f.held, at), null)::preauth._answer;
    end if;
  end loop;
end
$$;
comment on function preauth._cancel_round(preauth._ask[], timestamptz) is 'Cancels, or says why not: one call each on locked reservations that are all different.';

create function preauth._extend_round(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  f record;
  code text;
  extended timestamptz;
begin
  for f in
    select a.n, a as ask, r as held from unnest(asks) as a
    join preauth.reservation as r on r.request_id = a.request_id and r.account_id = a.account_id
    order by a.request_id, a.account_id
  loop
    code := coalesce(preauth._open_verdict(f.held, at), case
      when (f.held).state = 'unknown' or (f.held).expires_at <= at or not preauth._lock_leases((f.ask).request_id, (f.ask).account_id, at) then 'hold_lapsed' end);
    if code is not null then
      return next preauth._problem_answer(f.n, preauth._lifecycle_refusal(f.ask, code));
    else
      extended := greatest((f.held).expires_at, preauth._expiry(f.ask, at));
      return next row(f.n, 200, null, preauth._extend(f.ask, extended, at), null)::preauth._answer;
    end if;
  end loop;
end
$$;
comment on function preauth._extend_round(preauth._ask[], timestamptz) is 'Extends, or says why not: one call each on locked reservations that are all different, their lines locked in the order of keys.';

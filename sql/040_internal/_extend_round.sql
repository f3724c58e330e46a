create function preauth._extend_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  k integer;
  code text;
begin
  for k in select s from generate_subscripts(asks, 1) as s order by asks[s].request_id, asks[s].account_id loop
    code := preauth._open_verdict(held[k], at);
    if code is null and (held[k].state = 'unknown' or held[k].expires_at <= at or not preauth._lock_leases(held[k], at)) then
      code := 'hold_lapsed';
    end if;
    answers := answers || case
      when code is not null then preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], code))
      else row(asks[k].n, 200, null, preauth._extend(asks[k], held[k], greatest(held[k].expires_at, preauth._expiry(asks[k], at)), at), null)::preauth._answer
    end;
  end loop;
  return answers;
end
$$;
comment on function preauth._extend_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Extends, or says why not: one call each on locked reservations that are all different, their lines locked in the order of keys; held: each ask''s.';

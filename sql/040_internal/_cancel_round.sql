create function preauth._cancel_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  code text;
begin
  for k in 1 .. cardinality(asks) loop
    code := preauth._open_verdict(held[k], at);
    answers := answers || case
      when code is not null then preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], code))
      else row(asks[k].n, 200, null, preauth._cancel(asks[k], held[k], at), null)::preauth._answer
    end;
  end loop;
  return answers;
end
$$;
comment on function preauth._cancel_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Cancels, or says why not: one call each on locked reservations that are all different; held: each ask''s.';

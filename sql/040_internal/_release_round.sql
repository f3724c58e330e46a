create function preauth._release_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  ready preauth._ask[] := array[]::preauth._ask[];
  ready_held preauth.reservation[] := array[]::preauth.reservation[];
  answers preauth._answer[] := array[]::preauth._answer[];
  verdict text;
begin
  for k in 1 .. cardinality(asks) loop
    verdict := preauth._release_verdict(asks[k].call, held[k], at);
    case verdict
      when 'release' then
        ready := ready || asks[k];
        ready_held := ready_held || held[k];
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (held[k].closure || '{"replayed": true}')::json, null)::preauth._answer;
      else
        answers := answers || preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], verdict));
    end case;
  end loop;
  return answers || array(select r from preauth._release(ready, ready_held, at) as r);
end
$$;
comment on function preauth._release_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Releases, or says why not: one call each on locked reservations that are all different; held: each ask''s.';

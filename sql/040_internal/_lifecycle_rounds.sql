create function preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  turn preauth._ask[];
begin
  if not (preauth._has_twin(asks) or cardinality(asks) > 1 and (call = 'resolve' or preauth._is_due(held, at))) then
    return preauth._lifecycle_round(call, asks, held, at);
  end if;
  perform preauth._lock_windows(array(select distinct h.window_id from unnest(preauth._holdings(held)) as h));
  while cardinality(asks) > 0 loop
    turn := array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a order by a.request_id, a.account_id, a.n);
    turn := array(select t from unnest(turn) as t order by t.n);
    answers := answers || preauth._lifecycle_round(call, turn, preauth._held(turn), at);
    asks := array(select a from unnest(asks) as a where a.n not in (select t.n from unnest(turn) as t) order by a.n);
  end loop;
  return answers;
end
$$;
comment on function preauth._lifecycle_rounds(text, preauth._ask[], preauth.reservation[], timestamptz) is
  'Takes the asks in rounds in which no reservation comes twice. Where windows will be moved more than once (in several rounds; by settlements and releases, or by expiries, lapses and settlements, of one round), every window is locked before, so that the lock order holds.';

create function preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
  answers preauth._answer[];
  located record;
  locked record;
  done preauth._answer[];
begin
  located := preauth._located(asks);
  locked := preauth._lock_reservations(located.asks);
  if call = 'settle' and locked.are_open then
    done := preauth._settle_plainly(locked.asks, locked.held, locked.places, locked.at);
    if cardinality(done) = cardinality(asks) then
      return done;
    end if;
  end if;
  if done is null then
    done := preauth._lifecycle_rounds(call, locked.asks, locked.held, locked.at);
  end if;
  done := located.refused || locked.refused || done;
  answers := array_fill(null::preauth._answer, array[cardinality(asks)]);
  for k in 1 .. cardinality(done) loop
    answers[done[k].n] := done[k];
  end loop;
  return answers;
end
$$;
comment on function preauth._lifecycle_batch(text, jsonb, text[], text[]) is
  'Takes a batch of settle, release, extend, cancel or resolve calls: check, find and lock their reservations; settle those that are plain at once, or take all in rounds in which no reservation comes twice. The answers are in the order of the items.';

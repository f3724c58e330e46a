-- A loop of simple expressions, for it runs for each denial and each replay of a batch.
create function preauth._own_headers(account_id text, route preauth._route, slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamptz) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  place integer;
  slot preauth._slot;
  available bigint;
  share float8;
  least_share float8;
  tightest preauth._slot;
  left_there bigint;
begin
  for k in 1 .. coalesce(cardinality(route.window_ids), 0) loop
    place := array_position(slot_ids, route.window_ids[k]);
    slot := slots[place];
    continue when (slot.scope = account_id) is not true or slot.limit_amount is null;
    available := slot.limit_amount - slot.settled - reserved[place];
    share := available / greatest(slot.limit_amount, 1)::float8;
    if least_share is null or share < least_share or share = least_share and slot.budget < tightest.budget then
      least_share := share;
      tightest := slot;
      left_there := available;
    end if;
  end loop;
  return case when least_share is not null then preauth._rate_limit_headers(tightest.budget, tightest.limit_amount, left_there,
    tightest.starts_at, tightest.ends_at, tightest.trails, at) end;
end
$$;
comment on function preauth._own_headers(text, preauth._route, preauth._slot[], bigint[], bigint[], timestamptz) is
  'The rate limit headers of the account''s own budget with the smallest share left, after the batch; null where none has a limit.';

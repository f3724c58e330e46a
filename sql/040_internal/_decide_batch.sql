create function preauth._decide_batch(call text, items jsonb, actors text[], within text[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
begin
  if not items @? '$[*].dry_run ? (@ == true)' then
    return preauth._take(asks, null);
  end if;
  return preauth._rehearse_some(asks);
end
$$;
comment on function preauth._decide_batch(text, jsonb, text[], text[]) is 'Checks a batch of reserve or charge calls and decides it one by one; the answers are in the order of the items.';

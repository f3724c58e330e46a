create function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[];
begin
  if call = 'reserve' and (case when jsonb_typeof(items) = 'array' then jsonb_array_length(items) between 1 and 512 end) then
    asks := preauth._plain_asks(items, actors, within);
    if cardinality(asks) = jsonb_array_length(items) then
      return preauth._take_plain(asks);
    end if;
  end if;
  return preauth._decide_batch(call, items, actors, within);
end
$$;
comment on function preauth._reserve_batch(text, jsonb, text[], text[]) is
  'Checks and takes a batch of reserve or charge calls: all at once where all of them are plain and might fit, else one by one; the answers are in the order of the items.';

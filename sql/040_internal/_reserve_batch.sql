create function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wishes preauth._wish[];
begin
  if call = 'reserve' then
    wishes := preauth._wishes(items, actors, within);
    if cardinality(wishes) > 0 then
      return preauth._admit(wishes);
    end if;
  end if;
  return preauth._decide_batch(call, items, actors, within);
end
$$;
comment on function preauth._reserve_batch(text, jsonb, text[], text[]) is
  'Checks and takes a batch of reserve or charge calls: all at once where all of them are plain, else one by one; the answers are in the order of the items.';

-- Where the first of many has been decided before, a fleet may be asking again after an outage: nothing else is tried then.
create function preauth._take_plain(asks preauth._ask[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wishes preauth._wish[];
begin
  if cardinality(asks) > 1 then
    if exists (select from preauth.reservation as r where r.request_id = asks[1].request_id and r.account_id = asks[1].account_id) then
      return preauth._take(preauth._with_twins(asks), null);
    end if;
  end if;
  wishes := preauth._wishes(asks);
  if cardinality(wishes) = cardinality(asks) then
    return preauth._admit(wishes);
  end if;
  return preauth._take(preauth._with_twins(asks), null);
end
$$;
comment on function preauth._take_plain(preauth._ask[]) is
  'Takes a batch of plain reserve calls: all at once, unless one of them may not be wished (preauth._wishes); for that one may take room that a later one needs.';

-- Where the first of many has been decided before, a fleet may be asking again after an outage: what is found out item by item then costs least if nothing else is tried.
create function preauth._wishes(items jsonb, actors text[], within text[]) returns preauth._wish[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  wishes preauth._wish[];
begin
  if (case when jsonb_typeof(items) = 'array' then jsonb_array_length(items) between 1 and 512 end) is not true then
    return array[]::preauth._wish[];
  end if;
  if jsonb_array_length(items) > 1 then
    if exists (select from preauth.reservation as r where r.request_id = items -> 0 ->> 'request_id' and r.account_id = items -> 0 ->> 'account_id') then
      return array[]::preauth._wish[];
    end if;
  end if;
  wishes := preauth._plain_wishes(items, actors, within, preauth._now());
  return case when cardinality(wishes) = jsonb_array_length(items) then wishes else '{}' end;
end
$$;
comment on function preauth._wishes(jsonb, text[], text[]) is
  'What the items of a batch of reserve calls hold if there is room (preauth._plain_wishes); none unless all of them are plain, for what is not may take room that a later one needs.';

create function preauth._price_table_errors(body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error('', 'must be an object');
  end if;
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place, c.field), '[]') into errors
  from preauth._price_table_checks(body) as c
  where c.message is not null;
  if body ->> 'rates' is not null then
    errors := errors || preauth._rates_errors('rates', body -> 'rates', coalesce(body ->> 'unit', 'usd_nano'));
  end if;
  if body ->> 'tiers' is not null then
    errors := errors || preauth._tiers_errors('tiers', body -> 'tiers', coalesce(body ->> 'unit', 'usd_nano'));
  end if;
  return errors || preauth._aliases_errors('aliases', body);
end
$$;
comment on function preauth._price_table_errors(jsonb) is 'What is wrong with a price table, as [{path, message}]; [] when nothing is.';

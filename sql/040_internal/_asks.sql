-- A loop of simple expressions: what a query costs to begin, it costs in all for ten items.
create function preauth._asks(call text, items jsonb, actors text[], within text[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[] := array[]::preauth._ask[];
  item jsonb;
  errors jsonb;
  body jsonb;
  amounts jsonb;
  rest jsonb;
  is_plain boolean;
  caller text;
  defaults jsonb := case when call = 'reserve' then '{"ttl_seconds": 120}'::jsonb else '{}'::jsonb end;
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  for n in 1 .. jsonb_array_length(items) loop
    item := items -> (n - 1);
    errors := null;
    body := null;
    is_plain := false;
    if call = 'settle' and item > '{}' then
      amounts := item -> 'amounts';
      rest := item - array['request_id', 'account_id', 'amounts'];
      is_plain := (rest = '{}' or rest - array['provider_request_id', 'outcome', 'usage'] = '{}' and jsonb_strip_nulls(rest) = '{}')
        and jsonb_typeof(item -> 'request_id') = 'string' and length(item ->> 'request_id') between 1 and 128 and item ->> 'request_id' !~ '[^A-Za-z0-9_.:@/-]'
        and jsonb_typeof(item -> 'account_id') = 'string' and length(item ->> 'account_id') between 1 and 128 and item ->> 'account_id' !~ '[^A-Za-z0-9_.:@/-]'
        and case when amounts > '{}' then
          amounts - array['usd_nano', 'tokens', 'requests', 'credits'] = '{}'
          and amounts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)'
          and strpos(amounts::text, '.') = 0
        end;
    end if;
    if is_plain then
      body := jsonb_build_object('amounts', amounts);
    else
      if not preauth._is_plain(call, item) then
        errors := preauth._shape_errors(call, item);
      end if;
      if errors is null then
        body := defaults || jsonb_strip_nulls(item - array['request_id', 'account_id', 'dry_run']);
      end if;
    end if;
    if actors[n] is null then
      caller := coalesce(caller, preauth._caller());
    end if;
    asks[n] := row(n, call, item ->> 'request_id', item ->> 'account_id', body, coalesce(actors[n], caller), within[n], false, false, errors)::preauth._ask;
    if item ? 'dry_run' and errors is null then
      asks[n].dry_run := coalesce((item ->> 'dry_run')::boolean, false);
    end if;
  end loop;
  if cardinality(asks) > 1 then
    return preauth._with_twins(asks);
  end if;
  return asks;
end
$$;
comment on function preauth._asks(text, jsonb, text[], text[]) is
  'The items of a batch, checked: body is the item without its key, with defaults written out (two requests are the same when these are equal), errors are what is malformed. Raises PA001 unless items is an array of 1 to 512.';

-- Behind IFs, so that what an item does not have costs it nothing. Counts are looked at without a pattern: one that walks through the text costs twice as much.
-- What is greater than '{}' is an object, and has members. Strict, so that the path looks into no array, and is unknown where any count is no number. 7.0 is not plain.
create function preauth._is_plain(call text, item jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  request_id text := (item -> 'request_id')::text;
  account_id text := (item -> 'account_id')::text;
  amounts jsonb;
  digits text;
  counts jsonb;
  said text;
  rest jsonb;
begin
  if jsonb_typeof(item) is distinct from 'object' or not coalesce(request_id ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(request_id) <= 130, false) then
    return false;
  end if;
  if not coalesce(account_id ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(account_id) <= 130, false)
      and (item ->> 'account_id' is not null or call in ('reserve', 'charge')) then
    return false;
  end if;
  if call in ('reserve', 'charge', 'settle') then
    amounts := item -> 'amounts';
    digits := amounts::text;
    said := item ->> 'max_usage';
    if digits <> 'null' and not coalesce(
        digits ~ '^\{"[a-z][a-z0-9_]*": [0-9]+(, "[a-z][a-z0-9_]*": [0-9]+)*\}$'
        and (length(digits) <= 38 or digits !~ '[a-z0-9_]{33}' and digits !~ '(,[^,]*){16}')
        and not amounts @? '$.* ? (@ > 9007199254740991)', false) then
      return false;
    end if;
    if said is null and item ->> 'usage' is null then
      if (digits <> 'null') is not true then
        return false;
      end if;
    else
      counts := item -> 'max_usage';
      if call = 'settle' or item ->> 'usage' is not null then
        if call = 'reserve' or said is not null or item -> 'usage' ?| array['prompt_tokens', 'completion_tokens'] then
          return false;
        end if;
        counts := item -> 'usage';
        said := counts::text;
      end if;
      if (case when counts > '{}' then
          counts - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens',
            'cache_write_tokens', 'cache_write_1h_tokens', 'web_searches'] = '{}'
          and counts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)'
          and strpos(said, '.') = 0
        end) is not true then
        return false;
      end if;
    end if;
    if call = 'settle' then
      rest := item - array['request_id', 'account_id', 'amounts', 'usage'];
    else
      rest := item - array['request_id', 'account_id', 'amounts', 'max_usage'];
    end if;
  else
    rest := item - array['request_id', 'account_id'];
  end if;
  if rest = '{}' then
    return call in ('reserve', 'charge', 'settle', 'cancel');
  end if;
  return preauth._are_plain_options(call, rest);
end
$$;
comment on function preauth._is_plain(text, jsonb) is
  'Whether an item is certainly well-formed: one cheap look at what most calls send. When it is not true, preauth._shape_errors looks properly.';

-- Behind IFs, so that what an item does not have costs it nothing.
create function preauth._is_plain(call text, item jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  request_id text := (item -> 'request_id')::text;
  account_id text := (item -> 'account_id')::text;
  amounts jsonb;
  digits text;
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
    if item ->> 'amounts' is not null and not coalesce(
        digits ~ '^\{"[a-z][a-z0-9_]*": [0-9]+(, "[a-z][a-z0-9_]*": [0-9]+)*\}$'
        and (length(digits) <= 38 or digits !~ '[a-z0-9_]{33}' and digits !~ '(,[^,]*){16}')
        and not amounts @? '$.* ? (@ > 9007199254740991)', false) then
      return false;
    end if;
    if item ->> 'max_usage' is null and item ->> 'usage' is null then
      if item ->> 'amounts' is null then
        return false;
      end if;
    elsif call = 'settle' or item ?| array['amounts', 'usage'] then
      if not preauth._are_plain_counts(call, item) then
        return false;
      end if;
    elsif not preauth._are_plain_bounds(item -> 'max_usage') then
      return false;
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

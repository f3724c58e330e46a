-- Behind IFs, so that what an item does not have costs it nothing.
create function preauth._is_plain(call text, item jsonb) returns boolean
language plpgsql stable
as $$
declare
  rest jsonb;
begin
  if jsonb_typeof(item) is distinct from 'object' or not preauth._is_plain_id(item -> 'request_id') then
    return false;
  end if;
  if not preauth._is_plain_id(item -> 'account_id') and (item ->> 'account_id' is not null or call in ('reserve', 'charge')) then
    return false;
  end if;
  if call in ('reserve', 'charge', 'settle') then
    if item ->> 'max_usage' is null and item ->> 'usage' is null then
      if not preauth._are_plain_amounts(item -> 'amounts') then
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

create function preauth._amounts_presence_errors(call text, item jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when call = 'reserve' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'max_usage') = 0 then preauth._error('amounts', 'is required, or max_usage') else '[]' end
      || preauth._alternatives_presence_errors(item)
    when call = 'charge' then case
      when num_nonnulls(item ->> 'amounts', item ->> 'max_usage', item ->> 'usage') = 0 then preauth._error('amounts', 'is required, or usage, or max_usage')
      when num_nonnulls(item ->> 'max_usage', item ->> 'usage') = 2 then preauth._error('usage', 'must be left out where there is max_usage')
      else '[]' end
    when call = 'settle' and (item ->> 'outcome') is not distinct from 'unknown' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'must be left out when the outcome is unknown') else '[]' end
      || case when item ->> 'usage' is not null then preauth._error('usage', 'must be left out when the outcome is unknown') else '[]' end
    when call = 'settle' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'usage') = 0 then preauth._error('amounts', 'is required, or usage, unless the outcome is unknown') else '[]' end
    when call = 'resolve' and item ->> 'action' = 'settle' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'usage') = 0 then preauth._error('amounts', 'is required to settle, or usage') else '[]' end
    when call = 'resolve' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'is only for the action settle') else '[]' end
      || case when item ->> 'usage' is not null then preauth._error('usage', 'is only for the action settle') else '[]' end
    else '[]'
  end;
end
$$;
comment on function preauth._amounts_presence_errors(text, jsonb) is 'Whether amounts, max_usage or usage are there when the other fields ask for them; [] when all is well.';

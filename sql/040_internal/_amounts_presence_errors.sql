create function preauth._amounts_presence_errors(call text, item jsonb) returns jsonb
language sql stable
as $$
  select case
    when call = 'settle' and (item ->> 'outcome') is not distinct from 'unknown' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'must be left out when the outcome is unknown') else '[]' end
    when call = 'settle' then
      case when item ->> 'amounts' is null then preauth._error('amounts', 'is required unless the outcome is unknown') else '[]' end
    when call = 'resolve' and item ->> 'action' = 'settle' then
      case when item ->> 'amounts' is null then preauth._error('amounts', 'is required to settle') else '[]' end
    when call = 'resolve' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'is only for the action settle') else '[]' end
    else '[]'
  end
$$;
comment on function preauth._amounts_presence_errors(text, jsonb) is 'Whether amounts are there when the other fields ask for them; [] when all is well.';

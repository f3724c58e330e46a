create function preauth._option_amounts(body jsonb, option_no integer) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when option_no = 0 or not preauth._option(body, option_no) ?| array['max_usage', 'amounts'] then body -> 'amounts'
    else preauth._option(body, option_no) -> 'amounts'
  end;
end
$$;
comment on function preauth._option_amounts(jsonb, integer) is
  'The ceilings {unit: amount} that an option tells; an alternative that says neither max_usage nor amounts has the request''s. Null: none.';

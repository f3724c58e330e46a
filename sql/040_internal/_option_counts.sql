create function preauth._option_counts(body jsonb, option_no integer) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when option_no = 0 or not preauth._option(body, option_no) ?| array['max_usage', 'amounts'] then coalesce(body -> 'max_usage', body -> 'usage')
    else preauth._option(body, option_no) -> 'max_usage'
  end;
end
$$;
comment on function preauth._option_counts(jsonb, integer) is
  'What an option is priced by: max_usage, or a charge''s usage; an alternative that says neither max_usage nor amounts has the request''s. Null: nothing.';

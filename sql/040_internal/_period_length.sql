create function preauth._period_length(policy jsonb) returns interval
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case policy ->> 'period'
    when 'hour' then interval '1 hour'
    when 'day' then interval '1 day'
    when 'week' then interval '7 days'
    when 'month' then interval '1 month'
    when 'quarter' then interval '3 months'
    when 'year' then interval '1 year'
  end;
end
$$;
comment on function preauth._period_length(jsonb) is 'Length of a calendar period on the local clock.';

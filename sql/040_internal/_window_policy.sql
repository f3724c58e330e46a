create function preauth._window_policy(value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
      when value ->> 'kind' = 'cycle' then '{"period": "month"}'
      when value ->> 'period' = 'week' then '{"week_start": "monday"}'
      when value ->> 'period' in ('quarter', 'year') then '{"year_start_month": 1}'
      else '{}'
    end::jsonb || jsonb_strip_nulls(value);
end
$$;
comment on function preauth._window_policy(jsonb) is 'A well-formed window policy with its defaults written out.';

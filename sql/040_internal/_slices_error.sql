create function preauth._slices_error(slices jsonb, seconds jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when not coalesce(preauth._is_amount(slices) and slices::text::bigint between 1 and 1000, false) then 'must be from 1 to 1000'
    when preauth._is_period_in_seconds(seconds) and (seconds::text::bigint * 1000) % slices::text::bigint <> 0
      then 'must divide the period into slices of whole milliseconds'
  end;
end
$$;
comment on function preauth._slices_error(jsonb, jsonb) is 'What is wrong with the number of slices of a rolling window; null when nothing is.';

create function preauth._stricter_expiry(one text, other text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when one is null then other when 'keep' in (one, other) then 'keep' when 'charge' in (one, other) then 'charge' else one end;
end
$$;
comment on function preauth._stricter_expiry(text, text) is 'What becomes of a reservation with lines of both policies: keep if any keeps, else charge if any charges. one may be null: no line yet.';

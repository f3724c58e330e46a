create function preauth._first_counted(counts jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select min(c.key) from jsonb_each(counts) as c where c.value <> '0');
end
$$;
comment on function preauth._first_counted(jsonb) is 'The first dimension of which there is any; null where all are 0.';

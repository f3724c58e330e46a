create function preauth._token_count(counts jsonb) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select coalesce(sum(c.value::numeric), 0) from jsonb_each(counts) as c where c.key like '%\_tokens');
end
$$;
comment on function preauth._token_count(jsonb) is 'All tokens among {dimension: count}: what a budget of tokens counts.';

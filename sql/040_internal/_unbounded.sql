create function preauth._unbounded(dimensions text[], bounds jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for d in 1 .. cardinality(dimensions) loop
    if not preauth._is_bounded(dimensions[d], bounds) then
      return dimensions[d];
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._unbounded(text[], jsonb) is 'The first of these dimensions that max_usage does not bound; null when all are bounded.';

create function preauth._unbounded(dimensions text[], bounds jsonb) returns text
language sql stable
as $$
  select min(d.dimension) from unnest(dimensions) as d (dimension) where not preauth._is_bounded(d.dimension, bounds)
$$;
comment on function preauth._unbounded(text[], jsonb) is 'The first of these dimensions that max_usage does not bound; null when all are bounded.';

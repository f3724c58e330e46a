create function preauth._required_of(tiers jsonb) returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select distinct r.dimension
    from jsonb_array_elements(tiers) as t (tier)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
    where r.rate -> 'required' = 'true'
    order by r.dimension)
$$;
comment on function preauth._required_of(jsonb) is 'The dimensions that a ceiling must bound: required in any tier.';

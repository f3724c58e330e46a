create function preauth._scale_of(tiers jsonb) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  scale numeric := 1;
  per numeric;
begin
  for per in
    select distinct (r.rate ->> 'per')::numeric
    from jsonb_array_elements(tiers) as t (tier)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
  loop
    scale := lcm(scale, per);
  end loop;
  return scale;
end
$$;
comment on function preauth._scale_of(jsonb) is 'The least common multiple of all per: with it as denominator every rate is a whole number.';

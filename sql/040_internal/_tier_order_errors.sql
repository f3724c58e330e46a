create function preauth._tier_order_errors(path text, tiers jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(path || '.' || c.place - 1 || '.' || c.field, c.message) -> 0 order by c.place, c.field), '[]')
  from (
    select t.place, f.field, f.message
    from (
      select w.place, (w.tier ->> 'above_input_tokens')::bigint as above, lag((w.tier ->> 'above_input_tokens')::bigint) over (order by w.place) as before,
        array(select jsonb_object_keys(w.tier -> 'rates') order by 1) = array(select jsonb_object_keys(tiers -> 0 -> 'rates') order by 1) as alike
      from jsonb_array_elements(tiers) with ordinality as w (tier, place)
    ) as t
    cross join lateral (values
      ('above_input_tokens', case when t.place = 1 and t.above <> 0 then 'must be 0: the first tier begins there'
        when t.above <= t.before then 'overlaps the tier before it' end),
      ('rates', case when not t.alike then 'must price the same dimensions as the first tier' end)
    ) as f (field, message)
  ) as c
  where c.message is not null
$$;
comment on function preauth._tier_order_errors(text, jsonb) is 'What is wrong with well-formed tiers as a whole: they begin at 0, ascend, and price the same dimensions; as [{path, message}]; [] when nothing is.';

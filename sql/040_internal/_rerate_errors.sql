create function preauth._rerate_errors(wrong_table bigint, right_table bigint, since timestamptz, until timestamptz, reason text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place), '[]')
  from (values
    (1, 'wrong_table', case when wrong_table is null then 'is required' end),
    (2, 'right_table', case when right_table is null then 'is required' when right_table = wrong_table then 'is the wrong table itself' end),
    (3, 'since', case when since is null then 'is required' end),
    (4, 'until', case when until is null then 'is required' when until <= since then 'must be after since' end),
    (5, 'reason', case when reason is not null then preauth._value_error('text', to_jsonb(reason)) end)
  ) as c (place, field, message)
  where c.message is not null
$$;
comment on function preauth._rerate_errors(bigint, bigint, timestamptz, timestamptz, text) is 'What is wrong with a call to rerate, as [{path, message}]; [] when nothing is.';

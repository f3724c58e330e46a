create function preauth._spend_errors(since timestamptz, until timestamptz, by text[], label text, time_zone text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from (values
    ('since', case when since is null then 'is required' end),
    ('until', case when until is null then 'is required' when until <= since then 'must be later than since' end),
    ('by', case when by is null or not by <@ array['day', 'account', 'model', 'label'] then 'must name day, account, model or label' end),
    ('label', case when ('label' = any (by)) <> (label is not null) then 'must be given when by names label, and only then' end),
    ('time_zone', case when not coalesce(preauth._is_time_zone(to_jsonb(time_zone)), false) then 'must be an IANA time zone, such as Europe/Amsterdam' end)
  ) as c (field, message)
  where c.message is not null
$$;
comment on function preauth._spend_errors(timestamptz, timestamptz, text[], text, text) is 'What is wrong with the question for spend, as [{path, message}]; [] when nothing is.';

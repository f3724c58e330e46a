create function preauth._page_errors(max_count integer, cursor text, counted boolean default false) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from preauth._read_cursor(cursor) as r
  cross join lateral (values
    ('max_count', case when max_count is null or max_count not between 1 and 500 then 'must be from 1 to 500' end),
    ('cursor', case when r.at is null or counted and r.first_key !~ '^[0-9]{0,18}$' then 'must be the next_cursor of the page before' end)
  ) as c (field, message)
  where c.message is not null
$$;
comment on function preauth._page_errors(integer, text, boolean) is
  'What is wrong with the paging of a list, as [{path, message}]; [] when nothing is. counted: the list is in the order of a number, not of keys.';

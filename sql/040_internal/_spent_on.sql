create function preauth._spent_on(window_id bigint, closings preauth._closing[]) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(c.settled_amount), 0)::bigint from unnest(closings) as c where c.window_id = _spent_on.window_id
$$;
comment on function preauth._spent_on(bigint, preauth._closing[]) is 'What closings spend on a window, in its budget''s unit.';

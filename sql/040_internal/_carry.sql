create function preauth._carry(limit_amount bigint, raised bigint, taken bigint, periods bigint, per_period bigint, rollover jsonb) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when l.left_over >= l.most or periods = 0 then l.left_over else least(l.left_over + periods::numeric * per_period, l.most)::bigint end
  from (select preauth._left_over(limit_amount, raised, taken, rollover), (rollover ->> 'max')::bigint) as l (left_over, most)
$$;
comment on function preauth._carry(bigint, bigint, bigint, bigint, bigint, jsonb) is
  'What a window leaves (preauth._left_over) to the one after so many periods in which nothing was spent, each of which leaves per_period, in the budget''s unit.';

create function preauth._taken_at(steps preauth._step[], at timestamptz) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select s.taken from unnest(steps) as s where s.steps_at <= at order by s.steps_at desc limit 1 $$;
comment on function preauth._taken_at(preauth._step[], timestamptz) is 'What is taken of a window at an instant, in its unit, by its steps (preauth._steps_of).';

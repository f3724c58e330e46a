create function preauth._max_amount() returns bigint
language sql stable
as $$ select 9007199254740991 $$;
comment on function preauth._max_amount() is '2^53-1: the largest amount that every JSON client reads exactly.';

create function preauth._cursor(at timestamptz, first_key text, second_key text) returns text
language sql stable
as $$ select preauth._time(at) || '~' || first_key || '~' || second_key $$;
comment on function preauth._cursor(timestamptz, text, text) is 'Where a page ended, for the next one: an instant and two keys. None of them has a ~ in it.';

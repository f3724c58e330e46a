create function preauth._cursor(at timestamptz, first_key text, second_key text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._time(at) || '~' || first_key || '~' || second_key;
end
$$;
comment on function preauth._cursor(timestamptz, text, text) is 'Where a page ended, for the next one: an instant and two keys. None of them has a ~ in it.';

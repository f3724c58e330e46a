create function preauth._page_errors(max_count integer, cursor text, counted boolean default false) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  before record;
begin
  if max_count is null or max_count not between 1 and 500 then
    errors := preauth._error('max_count', 'must be from 1 to 500');
  end if;
  if cursor is not null then
    before := preauth._read_cursor(cursor);
    if before.at is null or counted and before.first_key !~ '^[0-9]{0,18}$' then
      errors := errors || preauth._error('cursor', 'must be the next_cursor of the page before');
    end if;
  end if;
  return errors;
end
$$;
comment on function preauth._page_errors(integer, text, boolean) is
  'What is wrong with the paging of a list, as [{path, message}]; [] when nothing is. counted: the list is in the order of a number, not of keys.';

create function preauth._page(items jsonb[], cursors text[], max_count integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'items', coalesce(to_jsonb(items[:max_count]), '[]'),
    'next_cursor', case when cardinality(items) > max_count then cursors[max_count] end);
end
$$;
comment on function preauth._page(jsonb[], text[], integer) is 'A page of a list: {items, next_cursor}, from up to max_count + 1 rows and their cursors. next_cursor is null on the last one.';

create function preauth_api.archive_figures() returns table (window_id bigint, settled_amount bigint, line_count bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return query select p.window_id, p.settled_amount, p.line_count from preauth.window_checkpoint as p order by p.window_id;
end
$$;
comment on function preauth_api.archive_figures() is 'What the archive must hold for each window, in its budget''s unit: preauth retention --check compares.';

create function preauth._lapse_lines(held preauth.reservation, at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._close_lines(array(
    select row(l.created_at, l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
    from preauth.hold_line as l
    where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at <= at
    order by l.position), at);
end
$$;
comment on function preauth._lapse_lines(preauth.reservation, timestamptz) is
  'Gives back what leases of a locked reservation held whose time has passed, for one that no sweep will come to any more. Locks their windows.';

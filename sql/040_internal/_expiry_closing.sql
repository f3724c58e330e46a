create function preauth._expiry_closing(line preauth.hold_line, is_charged boolean) returns preauth._closing
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when is_charged then row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'settled', line.amount)::preauth._closing
    else row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'lapsed', null)::preauth._closing
  end;
end
$$;
comment on function preauth._expiry_closing(preauth.hold_line, boolean) is 'What becomes of a line when time has passed: it is charged at its hold, or else lapses.';

create function preauth._expiry_closing(line preauth.hold_line, at timestamptz) returns preauth._closing
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when line.lapses_at <= at then row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'lapsed', null)::preauth._closing
    else row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'settled', line.amount)::preauth._closing
  end;
end
$$;
comment on function preauth._expiry_closing(preauth.hold_line, timestamptz) is 'What becomes of a line when time has passed: a lease lapses, another line is charged at its hold.';

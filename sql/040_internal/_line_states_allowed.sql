create function preauth._line_states_allowed(reservation_state text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case reservation_state
    when 'denied' then array[]::text[]
    when 'settled' then array['lapsed', 'settled']
    when 'released' then array['lapsed', 'released']
    when 'lapsed' then array['lapsed']
    else array['held', 'lapsed']
  end;
end
$$;
comment on function preauth._line_states_allowed(text) is 'States that the lines of a reservation in a state may be in.';

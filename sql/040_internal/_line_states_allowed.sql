create function preauth._line_states_allowed(reservation_state text) returns text[]
language sql stable
as $$
  select case reservation_state
    when 'denied' then array[]::text[]
    when 'settled' then array['lapsed', 'settled']
    when 'released' then array['lapsed', 'released']
    when 'lapsed' then array['lapsed']
    else array['held', 'lapsed']
  end
$$;
comment on function preauth._line_states_allowed(text) is 'States that the lines of a reservation in a state may be in.';

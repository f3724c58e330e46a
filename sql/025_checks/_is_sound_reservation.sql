create function preauth._is_sound_reservation(call text, state text, has_denial boolean, has_closure boolean) returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return call in ('reserve', 'charge')
    and state in ('authorized', 'cancellation_requested', 'unknown', 'overage_review', 'settled', 'released', 'lapsed', 'denied')
    and has_denial = (state = 'denied')
    and (has_closure or state <> 'settled');
end
$$;
comment on function preauth._is_sound_reservation(text, text, boolean, boolean) is
  'Whether a row of reservation can be: its call and its state are known, a denial and nothing else has figures that prove it, and what is settled says what was.';

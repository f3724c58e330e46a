create function preauth._is_sound_line(state text, amount bigint, lapses_at timestamptz, settled_amount bigint) returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return state in ('held', 'settled', 'released', 'lapsed')
    and amount between 0 and 9007199254740991
    and (lapses_at is null or state = 'held')
    and (settled_amount is not null) = (state = 'settled')
    and (settled_amount is null or settled_amount between 0 and 9007199254740991);
end
$$;
comment on function preauth._is_sound_line(text, bigint, timestamptz, bigint) is
  'Whether a row of hold_line can be: its state is known, only what is held lapses, what is settled and nothing else says how much, and amounts are in their range.';

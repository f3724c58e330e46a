create function preauth._ask_foreseen_at(
  ask preauth._ask, quotes preauth._quote[], first_quote integer, path text[], slots preauth._slot[], slot_ids bigint[],
  reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(preauth._option_foreseen_at(
    path, preauth._option_model(ask.body, o.option_no), preauth._asked_amounts(ask.body, o.option_no, quotes, first_quote), ask.call,
    slots, slot_ids, reserved, lapses, made, at))
  from generate_series(0, preauth._last_option(ask.body)) as o (option_no)
$$;
comment on function preauth._ask_foreseen_at(preauth._ask, preauth._quote[], integer, text[], preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[], timestamptz) is
  'As preauth._ask_fits_at where more than windows, leases and slices may turn by time alone (preauth._may_turn).';

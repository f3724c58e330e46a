create function preauth._other_answer(
  ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], reserved bigint[], is_fresh boolean, at timestamptz)
returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if ruling.verdict in ('malformed', 'forbidden', 'amount_missing', 'price_missing', 'dimension_unpriced', 'dimension_unbounded', 'amount_out_of_range') then
    return preauth._problem_answer(ask.n, preauth._refusal(ask, ruling.verdict, ruling.detail));
  elsif is_fresh and ruling.denial is not null then
    return preauth._fresh_denial(ask, ruling.denial, route, slots, reserved, at);
  else
    return preauth._recorded_answer(ask, at);
  end if;
end
$$;
comment on function preauth._other_answer(preauth._ask, preauth._ruling, preauth._route, preauth._slot[], bigint[], boolean, timestamptz) is
  'The answer to an item that was not authorized just now: refused, denied, or decided before.';

create function preauth._refuse_settlement(ask preauth._ask, code text, missing_unit text, at timestamptz) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if code in ('settlement_conflict', 'settlement_exceeds_hold') then
    perform preauth._note(ask, code, ask.body, at);
  end if;
  return preauth._problem_answer(ask.n, preauth._lifecycle_refusal(ask, code, missing_unit));
end
$$;
comment on function preauth._refuse_settlement(preauth._ask, text, text, timestamptz) is 'Says why a settlement moves nothing. What contradicts the ledger leaves an audit event.';

create function preauth._open_verdict(r preauth.reservation, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case preauth._state_at(r, at)
    when 'denied' then 'not_authorized'
    when 'settled' then 'already_settled'
    when 'released' then 'already_released'
    when 'lapsed' then 'hold_lapsed'
    when 'overage_review' then 'settlement_exceeds_hold'
  end;
end
$$;
comment on function preauth._open_verdict(preauth.reservation, timestamptz) is 'The code of the refusal of a call that needs an open reservation; null when it is open.';

create function preauth._release_verdict(call text, r preauth.reservation, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case preauth._state_at(r, at)
    when 'denied' then 'not_authorized'
    when 'settled' then 'already_settled'
    when 'lapsed' then 'hold_lapsed'
    when 'released' then 'replay'
    when 'overage_review' then case when call = 'resolve' then 'release' else 'settlement_exceeds_hold' end
    else 'release'
  end;
end
$$;
comment on function preauth._release_verdict(text, preauth.reservation, timestamptz) is 'release, replay, or the code of a refusal.';

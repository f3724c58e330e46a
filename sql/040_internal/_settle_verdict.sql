create function preauth._settle_verdict(ask preauth._ask, r preauth.reservation, state text, amounts jsonb, missing_unit text, exceeds boolean) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when state = 'denied' then 'not_authorized'
    when r.call = 'charge' then 'already_settled'
    when r.archived_at is not null then 'archived'  -- with what it was settled is no longer here to be compared
    when ask.body ->> 'action' = 'accept_overage' then case
      when state = 'overage_review' then 'settle'
      when r.closure ->> 'action' = 'accept_overage' then 'replay'
      else case state when 'settled' then 'already_settled' when 'released' then 'already_released' when 'lapsed' then 'hold_lapsed' else 'settlement_conflict' end
    end
    when ask.body ->> 'outcome' = 'unknown' then
      case state when 'settled' then 'already_settled' when 'released' then 'already_released' when 'lapsed' then 'hold_lapsed'
        when 'overage_review' then 'settlement_exceeds_hold' when 'unknown' then case when r.state = 'unknown' then 'replay' else 'mark_unknown' end
        else 'mark_unknown' end
    when state = 'settled' then case when r.closure -> 'amounts' = amounts
      and (not ask.body ? 'usage' or not r.closure ? 'usage' or r.closure -> 'usage' = ask.body -> 'usage') then 'replay' else 'settlement_conflict' end
    when ask.body ? 'priced' and preauth._settle_problem(ask, missing_unit) is not null then preauth._settle_problem(ask, missing_unit) ->> 'code'
    when missing_unit is not null then 'amount_missing'
    when ask.call = 'resolve' then 'settle'
    when state = 'overage_review' then 'settlement_exceeds_hold'
    when exceeds then 'mark_exceeding'
    else 'settle'
  end;
end
$$;
comment on function preauth._settle_verdict(preauth._ask, preauth.reservation, text, jsonb, text, boolean) is
  'settle, replay, mark_unknown, mark_exceeding (a refused overage that a person must resolve), archived (already_settled, in words of its own), or the code of a refusal: the rows 4 to 10 and 15 of docs/state-machine.md.';

create function preauth._lifecycle_refusal(ask preauth._ask, code text, more text default null) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when code in ('malformed', 'forbidden') then preauth._refusal(ask, code)
    when ask.body ? 'priced' and code in ('price_missing', 'dimension_unpriced', 'amount_out_of_range') and preauth._settle_problem(ask, more) is not null
      then preauth._refusal(ask, code, preauth._settle_problem(ask, more)::text)
    else preauth._problem(case code when 'archived' then 'already_settled' else code end,
      case code
        when 'reservation_unknown' then format('No reservation %s is known.', ask.request_id)
        when 'account_id_required' then format('Several accounts have a reservation %s: say which account_id.', ask.request_id)
        when 'not_authorized' then format('Reservation %s was denied: it holds nothing.', ask.request_id)
        when 'already_settled' then format('Reservation %s is settled.', ask.request_id)
        when 'archived' then format('Reservation %s is settled and archived. What it was settled with is no longer here, so nothing was compared or changed.', ask.request_id)
        when 'already_released' then format('Reservation %s was released.', ask.request_id)
        when 'hold_lapsed' then format('The time of reservation %s has passed.', ask.request_id)
        when 'settlement_conflict' then case ask.body ->> 'action'
          when 'accept_overage' then format('Reservation %s has no refused overage to accept.', ask.request_id)
          else format('Reservation %s was settled with other usage; nothing was changed.', ask.request_id) end
        when 'settlement_exceeds_hold' then format('The usage of reservation %s exceeds its hold, which stays until a person resolves it.', ask.request_id)
        when 'amount_out_of_range' then format('A budget window of reservation %s would pass %s.', ask.request_id, preauth._most_counted())
        when 'amount_missing' then format('Reservation %s holds %s, and the usage does not say how many.', ask.request_id, more)
      end,
      jsonb_strip_nulls(jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', more)))
  end;
end
$$;
comment on function preauth._lifecycle_refusal(preauth._ask, text, text) is 'A refusal of settle, release, extend, cancel or resolve as problem+json.';

create function preauth._refusal(ask preauth._ask, code text, detail text default null) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when code in ('price_missing', 'dimension_unpriced', 'dimension_unbounded', 'amount_out_of_range')
    then preauth._problem(code, preauth._price_detail(detail::jsonb),
      jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || (detail::jsonb - 'code'))
    else preauth._problem(code,
      case code
        when 'malformed' then 'See errors: each names a field and what is wrong with it.'
        when 'forbidden' then 'This key is bound to a subtree of accounts that this one is not in.'
        when 'amount_missing' then format('A hard budget counts %s, and the request does not say how many.', detail)
        when 'request_id_conflict' then coalesce(detail, format('Request %s of account %s was decided with another body; nothing was changed.', ask.request_id, ask.account_id))
        else detail
      end,
      case code
        when 'malformed' then jsonb_build_object('errors', ask.errors)
        when 'amount_missing' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', detail)
        else jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id)
      end)
  end;
end
$$;
comment on function preauth._refusal(preauth._ask, text, text) is 'A refusal of one item as problem+json. detail: the unit of amount_missing; {code, …} as text where a price is wanting.';

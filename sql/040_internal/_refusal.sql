create function preauth._refusal(ask preauth._ask, code text, detail text default null) returns jsonb
language sql stable
as $$
  select preauth._problem(code,
      case code
        when 'malformed' then 'See errors: each names a field and what is wrong with it.'
        when 'forbidden' then 'This key is bound to a subtree of accounts that this one is not in.'
        when 'amount_missing' then format('A hard budget counts %s, and the request does not say how many.', detail)
        when 'price_missing' then format('A budget counts money, and no price is in effect for %s.', coalesce('model ' || (detail::jsonb ->> 'model'), 'a request that names no model'))
        when 'dimension_unpriced' then format('The price of %s has no rate for %s.', detail::jsonb ->> 'model', detail::jsonb ->> 'dimension')
        when 'dimension_unbounded' then format('The price of %s requires a bound for %s, and max_usage has none.', detail::jsonb ->> 'model', detail::jsonb ->> 'dimension')
        when 'amount_out_of_range' then format('The request comes to more %s than an amount can be.', detail::jsonb ->> 'unit')
        when 'request_id_conflict' then format('Request %s of account %s was decided with another body; nothing was changed.', ask.request_id, ask.account_id)
        else detail
      end,
      case code
        when 'malformed' then jsonb_build_object('errors', ask.errors)
        when 'amount_missing' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', detail)
        when 'price_missing' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || detail::jsonb - 'code'
        when 'dimension_unpriced' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || detail::jsonb - 'code'
        when 'dimension_unbounded' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || detail::jsonb - 'code'
        when 'amount_out_of_range' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || detail::jsonb - 'code'
        else jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id)
      end)
$$;
comment on function preauth._refusal(preauth._ask, text, text) is 'A refusal of one item as problem+json.';

create function preauth._replayed_authorization(
  r preauth.reservation, n integer, headers json, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamptz)
returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  ask preauth._ask := row(n, r.call, r.request_id, r.account_id, r.body, null, null, false, false, null)::preauth._ask;
  answer preauth._answer;
begin
  answer := preauth._authorization(ask, preauth._state_at(r, at), r.model, r.option_no, r.expires_at, true, r.price_table_ids[1],
    case when r.call = 'charge' then r.closure -> 'cost' end, slots, lines, from_line, to_line, null, at);
  answer.headers := headers;
  return answer;
end
$$;
comment on function preauth._replayed_authorization(preauth.reservation, integer, json, preauth._slot[], preauth._line[], integer, integer, timestamptz) is
  'An authorization as it was answered, with the reservation''s present state, as the answer to item n.';

create function preauth._mark_exceeding(ask preauth._ask, held preauth.reservation, at timestamptz) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._lapse_lines(held, at);
  update preauth.hold_line as l set lapses_at = null
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at > at;
  update preauth.reservation as r set state = 'overage_review', closure = jsonb_strip_nulls(jsonb_build_object(
    'amounts', ask.body -> 'amounts', 'usage', ask.body -> 'usage', 'priced', ask.body -> 'priced'))
  where r.request_id = ask.request_id and r.account_id = ask.account_id;
  return preauth._refuse_settlement(ask, 'settlement_exceeds_hold', null, at);
end
$$;
comment on function preauth._mark_exceeding(preauth._ask, preauth.reservation, timestamptz) is 'A settlement above the hold of a budget with overage: reject. The hold stays, leases included but for those that have lapsed, and the refused usage is kept for a person to resolve.';

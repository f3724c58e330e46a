create function preauth._mark_unknown(ask preauth._ask, held preauth.reservation, at timestamptz) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  r preauth.reservation;
begin
  perform preauth._lapse_lines(held, at);
  if not preauth._lock_leases(held, at) and not exists (
    select from preauth.hold_line as l where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.state = 'held' and l.lapses_at is null)
  then
    return preauth._problem_answer(ask.n, preauth._lifecycle_refusal(ask, 'hold_lapsed'));
  end if;
  update preauth.hold_line as l set lapses_at = null
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at > at;
  update preauth.reservation as x set state = 'unknown'
  where x.request_id = ask.request_id and x.account_id = ask.account_id
  returning x.* into r;
  perform preauth._note(ask, 'unknown', jsonb_strip_nulls(jsonb_build_object('provider_request_id', ask.body -> 'provider_request_id')), at);
  return row(ask.n, 200, null, preauth._unknown_body(r)::json, null)::preauth._answer;
end
$$;
comment on function preauth._mark_unknown(preauth._ask, preauth.reservation, timestamptz) is 'The provider may or may not have billed: the hold is kept, leases included but for those that have lapsed, until it is settled or resolved.';

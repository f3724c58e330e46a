create function preauth._recorded_answer(ask preauth._ask, at timestamptz) returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  r preauth.reservation;
  headers json;
begin
  select x.* into strict r from preauth.reservation as x where x.request_id = ask.request_id and x.account_id = ask.account_id;
  if (r.call, r.body) is distinct from (ask.call, ask.body) then
    return preauth._problem_answer(ask.n, preauth._refusal(ask, 'request_id_conflict'));
  end if;
  headers := preauth._current_headers(r.account_id, r.model, at);
  if r.denial is not null then
    return row(ask.n, preauth._denial_status(r.denial), preauth._with_retry_after(headers, r.denial),
      preauth._denial_body(r.request_id, r.account_id, r.denial, true)::json, null::text);
  end if;
  return row(ask.n, 200, headers, preauth._recorded_authorization(r, at), null::text);
end
$$;
comment on function preauth._recorded_answer(preauth._ask, timestamptz) is 'The answer to an item whose key was decided before: the same decision, or a conflict if it asks for something else.';

create function preauth._denial_answer(ask preauth._ask, denial jsonb, headers json, replayed boolean) returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(ask.n, preauth._denial_status(denial), preauth._with_retry_after(headers, denial),
    preauth._denial_body(ask.request_id, ask.account_id, denial, replayed), null)::preauth._answer;
end
$$;
comment on function preauth._denial_answer(preauth._ask, jsonb, json, boolean) is 'The answer to an item that was denied, just now or before (replayed), with the rate limit headers of its account as they are now.';

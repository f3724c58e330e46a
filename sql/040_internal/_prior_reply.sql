create function preauth._prior_reply(ask preauth._ask, held preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when ask.body ->> 'outcome' = 'unknown' then preauth._unknown_body(held) else held.closure end;
end
$$;
comment on function preauth._prior_reply(preauth._ask, preauth.reservation) is 'What the same settle call was answered before.';

create function preauth._prior_reply(ask preauth._ask, held preauth.reservation) returns jsonb
language sql stable
as $$ select case when ask.body ->> 'outcome' = 'unknown' then preauth._unknown_body(held) else held.closure end $$;
comment on function preauth._prior_reply(preauth._ask, preauth.reservation) is 'What the same settle call was answered before.';

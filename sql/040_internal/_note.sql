create function preauth._note(ask preauth._ask, event text, detail jsonb, at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor, detail)
  values (ask.request_id, ask.account_id, event, at, ask.actor, detail);
end
$$;
comment on function preauth._note(preauth._ask, text, jsonb, timestamptz) is 'Appends one event to a reservation''s timeline.';

-- Documents first: what is deleted is in them. Checkpoints by window in the order of the locks.
create function preauth._archive(chosen preauth.reservation[], before timestamptz, at timestamptz) returns table (place bigint, document text, cursor text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  documents text[] := array(select preauth._archive_document(r) from unnest(chosen) with ordinality as c (request_id, account_id)
                            join preauth.reservation as r using (request_id, account_id) order by c.ordinality);
begin
  return query
    select c.ordinality, documents[c.ordinality], preauth._cursor(c.created_at, c.request_id, c.account_id)
    from unnest(chosen) with ordinality as c;
  insert into preauth.window_checkpoint (window_id, account_id, settled_amount, line_count, archived_until)
  select w.window_id, w.account_id, sum(coalesce(l.settled_amount, 0)), count(*), before
  from unnest(chosen) as c
  join preauth.hold_line as l on l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id
  join preauth.budget_window as w on w.window_id = l.window_id
  group by w.window_id, w.account_id
  order by w.window_id
  on conflict (window_id, account_id) do update
  set settled_amount = window_checkpoint.settled_amount + excluded.settled_amount, line_count = window_checkpoint.line_count + excluded.line_count,
    archived_until = greatest(window_checkpoint.archived_until, excluded.archived_until);
  delete from preauth.hold_line as l using unnest(chosen) as c where l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id;
  delete from preauth.usage_event as u using unnest(chosen) as c where u.request_id = c.request_id and u.account_id = c.account_id and u.window_id is null;
  delete from preauth.reservation_event as e using unnest(chosen) as c where e.request_id = c.request_id and e.account_id = c.account_id;
  update preauth.reservation as r
  set archived_at = at, body = jsonb_build_object('archived', encode(sha256(convert_to(documents[c.ordinality], 'UTF8')), 'hex')),
    denial = case when r.denial is not null then jsonb_strip_nulls(jsonb_build_object('reason', r.denial -> 'reason', 'retry_after_ms', r.denial -> 'retry_after_ms')) end,
    closure = case when r.closure is not null then '{}'::jsonb end
  from unnest(chosen) with ordinality as c
  where r.request_id = c.request_id and r.account_id = c.account_id;
end
$$;
comment on function preauth._archive(preauth.reservation[], timestamptz, timestamptz) is
  'Takes locked reservations out of the ledger: a document each, a checkpoint for each window they settled in, and the row that keeps their key, with the SHA-256 of the document as its body (and of a denial what its status was for).';

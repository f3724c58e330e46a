create function preauth._locate(ask preauth._ask, out account_id text, out problem text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  candidates text[] := array(select r.account_id from preauth.reservation as r
                             where r.request_id = ask.request_id and preauth._is_within(r.account_id, ask.within) limit 2);
begin
  account_id := candidates[1];
  problem := case cardinality(candidates) when 0 then 'reservation_unknown' when 2 then 'account_id_required' end;
end
$$;
comment on function preauth._locate(preauth._ask) is 'The account of the one reservation that a request_id names within the caller''s reach, or why it cannot be told.';

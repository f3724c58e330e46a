create function preauth._asked_about(request_id text, account_id text, out held preauth.reservation[], out problem jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  if request_id is null then
    problem := preauth._malformed(preauth._error('request_id', 'is required'));
    return;
  end if;
  if account_id is null then
    held := array(select x from preauth.reservation as x where x.request_id = _asked_about.request_id limit 2);
  else
    held := array(select x from preauth.reservation as x where x.request_id = _asked_about.request_id and x.account_id = _asked_about.account_id);
  end if;
  if cardinality(held) <> 1 then
    problem := preauth._lifecycle_refusal(
      row(1, 'reservation', request_id, account_id, '{}', null, null, false, false, null)::preauth._ask,
      case cardinality(held) when 0 then 'reservation_unknown' else 'account_id_required' end);
  end if;
end
$$;
comment on function preauth._asked_about(text, text) is 'The one reservation that an auditor asks about (held[1]), or why it cannot be told. account_id may be left out while request_id names one.';

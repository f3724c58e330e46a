create function preauth._asked_about(request_id text, account_id text, out held preauth.reservation[], out problem jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  ask preauth._ask := row(1, 'reservation', request_id, account_id, '{}', null, null, false, false, null)::preauth._ask;
  located record;
begin
  if request_id is null then
    problem := preauth._malformed(preauth._error('request_id', 'is required'));
    return;
  end if;
  located := preauth._located(array[ask]);
  held := preauth._held(located.asks);
  if held[1].request_id is null then
    problem := coalesce((located.refused[1]).body::jsonb, preauth._lifecycle_refusal(ask, 'reservation_unknown'));
  end if;
end
$$;
comment on function preauth._asked_about(text, text) is 'The one reservation that an auditor asks about, or why it cannot be told. account_id may be left out while request_id names one.';

create function preauth._field_kind(call text, field text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case field
    when 'request_id' then 'id'
    when 'account_id' then 'id'
    when 'amounts' then case when call in ('reserve', 'charge', 'settle', 'resolve') then 'amounts' end
    when 'max_usage' then case when call in ('reserve', 'charge') then 'bounds' end
    when 'usage' then case when call in ('charge', 'settle', 'resolve') then 'counts' end
    when 'model' then case when call in ('reserve', 'charge') then 'id' end
    when 'session_id' then case when call in ('reserve', 'charge') then 'id' end
    when 'labels' then case when call in ('reserve', 'charge') then 'labels' end
    when 'ttl_seconds' then case when call in ('reserve', 'extend') then 'ttl' end
    when 'alternatives' then case when call = 'reserve' then 'alternatives' end
    when 'dry_run' then case when call = 'reserve' then 'flag' end
    when 'record' then case when call = 'charge' then 'flag' end
    when 'provider_request_id' then case when call = 'settle' then 'text' end
    when 'outcome' then case when call = 'settle' then 'outcome' end
    when 'reason' then case when call in ('release', 'resolve') then 'text' end
    when 'action' then case when call = 'resolve' then 'action' end
  end;
end
$$;
comment on function preauth._field_kind(text, text) is 'What kind of value a call''s field takes; null: the call has no such field.';

create function preauth._denial_status(denial jsonb) returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when current_setting('preauth.denial_status', true) = '402' then 402
    when denial ->> 'retry_after_ms' is null then 402
    else 429
  end;
end
$$;
comment on function preauth._denial_status(jsonb) is '429, or 402 when waiting cannot help or the setting preauth.denial_status says 402 always.';

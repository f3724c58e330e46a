create function preauth._log_change(actor text, subject text, subject_id text, before jsonb, after jsonb, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if before is distinct from after then
    insert into preauth.change_log (changed_at, actor, subject, subject_id, before, after, reason)
    values (preauth._now(), coalesce(actor, preauth._caller()), subject, subject_id, before, after, reason);
  end if;
end
$$;
comment on function preauth._log_change(text, text, text, jsonb, jsonb, text) is 'Appends a change to the log; what changes nothing is not logged.';

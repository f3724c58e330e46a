create function preauth._change_json(c preauth.change_log) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'change_id', c.change_id, 'at', preauth._time(c.changed_at), 'subject', c.subject, 'subject_id', c.subject_id,
    'actor', c.actor, 'reason', c.reason, 'before', c.before, 'after', c.after);
end
$$;
comment on function preauth._change_json(preauth.change_log) is 'A change of a plan, an account, a budget or a key, as a list shows it.';

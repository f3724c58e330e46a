create function preauth_api.audit_verify() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered((
    select jsonb_build_object('consistent', count(*) = 0, 'items', coalesce(jsonb_agg(to_jsonb(v)), '[]'))
    from preauth_api.verify() as v));
end
$$;
comment on function preauth_api.audit_verify() is 'preauth_api.verify() as JSON: {consistent, items: the mismatches}.';

create function preauth._resolve_round(asks preauth._ask[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  releases preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' = 'release');
  settlements preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' <> 'release');
  held preauth.reservation[] := preauth._held(asks);
  answers preauth._answer[] := preauth._settle_round(settlements, preauth._held(settlements), at)
    || preauth._release_round(releases, preauth._held(releases), at);
begin
  for k in 1 .. cardinality(asks) loop
    perform preauth._log_change(asks[k].actor, 'reservation', asks[k].account_id || '/' || asks[k].request_id,
      jsonb_build_object('state', preauth._state_at(held[k], at)),
      jsonb_strip_nulls(jsonb_build_object('state', r.body ->> 'state', 'action', asks[k].body -> 'action', 'amounts', r.body::jsonb -> 'amounts')),
      asks[k].body ->> 'reason')
    from unnest(answers) as r
    where r.n = asks[k].n and r.status = 200 and not (r.body ->> 'replayed')::boolean;
  end loop;
  return answers;
end
$$;
comment on function preauth._resolve_round(preauth._ask[], timestamptz) is 'Settles or releases, as a person has decided, each with an entry in the change log.';

create function preauth._resolve_round(asks preauth._ask[], at timestamptz) returns preauth._answer[]
language plpgsql
as $$
declare
  releases preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' = 'release');
  settlements preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' <> 'release');
begin
  return preauth._settle_round(settlements, preauth._held(settlements), at) || array(select r from preauth._release_round(releases, at) as r);
end
$$;
comment on function preauth._resolve_round(preauth._ask[], timestamptz) is 'Settles or releases, as a person has decided.';

create function preauth_api.reserve_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._reserve_batch('reserve', items, actors, within)) as a;
end
$$;
comment on function preauth_api.reserve_many(jsonb, text[], text[]) is
  'Many reserve calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

create function preauth._is_decided(n integer, asks preauth._ask[], rulings preauth._ruling[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from unnest(rulings) as r
    where (r.verdict in ('authorized', 'recorded') or preauth._is_denial(r.verdict))
      and (asks[r.n].request_id, asks[r.n].account_id) = (asks[_is_decided.n].request_id, asks[_is_decided.n].account_id))
$$;
comment on function preauth._is_decided(integer, preauth._ask[], preauth._ruling[]) is 'Whether an earlier item of the batch with the same key has been decided, so that item n is its replay.';

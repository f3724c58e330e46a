create function preauth._counts_only(path text[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select p.unpriced = 'count_only'
    from preauth.account as a
    join preauth.plan as p on p.plan_id = a.plan_id
    where a.account_id = any (_counts_only.path)
    order by cardinality(a.path) desc limit 1), false)
$$;
comment on function preauth._counts_only(text[]) is 'Whether what has no price is counted in tokens and requests alone: as the plan of the account says, or of the nearest above it that has one.';

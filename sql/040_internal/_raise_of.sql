create function preauth._raise_of(
  account_id text, name text, unit text, plain_limit bigint, ends_at timestamptz, at timestamptz,
  out raised bigint, out raised_until timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(max(least(r.amount, 9007199254740991 - plain_limit)), 0), max(case when r.expires_at < _raise_of.ends_at then r.expires_at end)
  from preauth.limit_raise as r
  where r.account_id = _raise_of.account_id and r.name = _raise_of.name and r.unit = _raise_of.unit and r.expires_at > _raise_of.at
    and plain_limit < 9007199254740991
$$;
comment on function preauth._raise_of(text, text, text, bigint, timestamptz, timestamptz) is
  'What a temporary raise adds to the plain limit of an account''s window that ends at an instant, in the unit, and until when (null: not before the window ends). 0 where nothing is raised in that unit, or the limit is null: unlimited.';

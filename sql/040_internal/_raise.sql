create function preauth._raise(code text, message text, detail jsonb default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = code, message = message, detail = coalesce(detail::text, '');
end
$$;
comment on function preauth._raise(text, text, jsonb) is 'PA001: misuse; PA002: a broken invariant, the transaction is undone. The codes are listed in sql/README.md.';

create function preauth._is_untold(route preauth._route, amounts jsonb, problems jsonb) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from unnest(route.units, route.hard) as u (unit, hard)
    where u.unit <> 'open_holds' and preauth._amount_of(amounts, u.unit) is null
      and (u.hard or coalesce(problems ? u.unit, false) and not preauth._counts_only(route.path)))
$$;
comment on function preauth._is_untold(preauth._route, jsonb, jsonb) is 'Whether a request is refused because what it asks of a budget cannot be told: see preauth._missing_unit and preauth._quote_problem.';

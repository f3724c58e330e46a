create function preauth._settle_problem(ask preauth._ask, missing_unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(ask.body -> 'priced' -> 'refused', ask.body -> 'priced' -> 'problems' -> missing_unit);
end
$$;
comment on function preauth._settle_problem(preauth._ask, text) is 'Why a usage cannot be settled: it cannot be priced, or the unit it does not tell has no price. {code, …}; null: it can, as far as prices go.';

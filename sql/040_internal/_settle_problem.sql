create function preauth._settle_problem(ask preauth._ask, missing_unit text) returns jsonb
language sql stable
as $$ select coalesce(ask.body -> 'priced' -> 'refused', ask.body -> 'priced' -> 'problems' -> missing_unit) $$;
comment on function preauth._settle_problem(preauth._ask, text) is 'Why a usage cannot be settled: it cannot be priced, or the unit it does not tell has no price. {code, …}; null: it can, as far as prices go.';

create function preauth._untold_ruling(ruling preauth._ruling, route preauth._route, wanted bigint[], problems jsonb) returns preauth._ruling
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  problem jsonb;
begin
  ruling.detail := preauth._missing_unit(route, wanted);
  ruling.verdict := case when ruling.detail is not null then 'amount_missing' when num_nonnulls(variadic wanted) = 0 then 'no_budget' end;
  if problems <> '{}' then
    problem := preauth._quote_problem(problems, route, wanted, ruling.detail);
    ruling.verdict := coalesce(problem ->> 'code', ruling.verdict);
    ruling.detail := coalesce(problem::text, ruling.detail);
  end if;
  return ruling;
end
$$;
comment on function preauth._untold_ruling(preauth._ruling, preauth._route, bigint[], jsonb) is
  'The ruling of a request of which some budget''s amount cannot be told, or to which none applies: amount_missing where a hard budget counts it, no_budget where none is told, or the code of what stands against its price (problems: {unit: {code, …}}); else as it was.';

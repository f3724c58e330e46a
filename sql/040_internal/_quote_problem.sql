create function preauth._quote_problem(problems jsonb, route preauth._route, wanted bigint[], missing_unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if missing_unit is not null then
    return problems -> missing_unit;
  end if;
  for k in 1 .. cardinality(wanted) loop
    if wanted[k] is null and problems ? route.units[k] then
      return case when not preauth._counts_only(route.path) then problems -> route.units[k] end;
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._quote_problem(jsonb, preauth._route, bigint[], text) is
  'Why a request is refused of which a budget counts a unit that could not be worked out: a hard one always (missing_unit, where it is the unit''s problem), another unless the plan says count_only. {code, …}; null: it is not refused for that.';

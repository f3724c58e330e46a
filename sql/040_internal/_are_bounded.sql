create function preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb) returns boolean
language plpgsql stable
as $$
begin
  if tariffs = '{}' then
    return false;
  end if;
  for d in 1 .. cardinality(tariffs[1].dimensions) loop
    if usage ? tariffs[1].dimensions[d] and not preauth._is_bounded(tariffs[1].dimensions[d], bounds) then
      return false;
    end if;
  end loop;
  return true;
end
$$;
comment on function preauth._are_bounded(preauth._tariff[], jsonb, jsonb) is 'Whether max_usage certainly bounds every dimension of a well-priced usage: a cheap look before preauth._unbounded_amounts.';

create function preauth._amounts_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' then
    return preauth._error(path, 'must be an object {unit: amount}');
  end if;
  if (select count(*) from jsonb_object_keys(value)) not between 1 and 16 then
    return preauth._error(path, 'must name 1 to 16 units');
  end if;
  return (
    select jsonb_agg(e.error order by e.error ->> 'path')
    from jsonb_each(value) as a (unit, amount)
    cross join lateral (
      select case
        when not preauth._is_unit(a.unit) then preauth._error(path || '.' || a.unit, 'is no unit: 1 to 32 characters, a-z first, then a-z 0-9 _')
        when not preauth._is_amount(a.amount) then preauth._error(path || '.' || a.unit, 'must be a whole number from 0 to 9007199254740991')
      end -> 0
    ) as e (error)
    where e.error is not null
  );
end
$$;
comment on function preauth._amounts_errors(text, jsonb) is 'What is wrong with {unit: amount}, as [{path, message}]; null when nothing is.';

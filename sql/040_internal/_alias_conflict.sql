create function preauth._alias_conflict(body jsonb, name text, unit text, effective_from timestamptz) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select a.alias
  from (
    select preauth._price_table_name(n.alias, body ->> 'variant') as alias
    from jsonb_array_elements_text(nullif(body -> 'aliases', 'null')) as n (alias)
  ) as a
  where exists (
      select from preauth.price_table as t
      where t.name = a.alias and t.unit = _alias_conflict.unit and t.effective_from = _alias_conflict.effective_from
        and t.alias_of is distinct from _alias_conflict.name)
    or exists (select from preauth.price_table as t where t.alias_of = a.alias and t.unit = _alias_conflict.unit)
  union all
  select _alias_conflict.name
  where jsonb_array_length(nullif(body -> 'aliases', 'null')) > 0 and exists (
    select from preauth.price_table as t
    where t.name = _alias_conflict.name and t.unit = _alias_conflict.unit and t.effective_from >= _alias_conflict.effective_from and t.alias_of is not null)
  order by 1 limit 1
$$;
comment on function preauth._alias_conflict(jsonb, text, text, timestamptz) is
  'The first alias that cannot be one: its name says something else from the same instant on, or other aliases stand for it; or the name itself, where it is an alias from the same instant on or later. Null when all can.';

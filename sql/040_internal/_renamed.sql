-- By key, not by value alone: an account may be called tokens, or as a plan is.
create function preauth._renamed(value jsonb, before text, after text, key text default '') returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if value is null or strpos(value::text, before) = 0 then
    return value;
  end if;
  return case jsonb_typeof(value)
    when 'string' then case when value #>> '{}' = before and key in ('account_id', 'parent_id', 'scope', 'path') then to_jsonb(after) else value end
    when 'array' then (
      select jsonb_agg(preauth._renamed(a.value, before, after, key) order by a.ordinality) from jsonb_array_elements(value) with ordinality as a)
    when 'object' then (select jsonb_object_agg(o.key, preauth._renamed(o.value, before, after, o.key)) from jsonb_each(value) as o)
    else value
  end;
end
$$;
comment on function preauth._renamed(jsonb, text, text, text) is 'A JSON value in which the account before is called after, wherever a member says that it names an account. key: of the member that it is the value of.';

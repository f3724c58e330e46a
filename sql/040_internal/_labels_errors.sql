create function preauth._labels_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' then
    return preauth._error(path, 'must be an object {label: text}');
  end if;
  if (select count(*) from jsonb_object_keys(value)) > 16 then
    return preauth._error(path, 'must have at most 16 labels');
  end if;
  return (
    select jsonb_agg(e.error order by e.error ->> 'path')
    from jsonb_each(value) as l (name, label)
    cross join lateral (
      select case
        when not preauth._is_name(l.name, 32) then preauth._error(path || '.' || l.name, 'is no label name: 1 to 32 characters, a-z first, then a-z 0-9 _ . -')
        when not preauth._is_line(l.label, 128) then preauth._error(path || '.' || l.name, 'must be a string of 1 to 128 characters, none of them a control character')
      end -> 0
    ) as e (error)
    where e.error is not null
  );
end
$$;
comment on function preauth._labels_errors(text, jsonb) is 'What is wrong with labels, as [{path, message}]; null when nothing is.';

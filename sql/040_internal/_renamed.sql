create function preauth._renamed(value jsonb, before text, after text) returns jsonb
language plpgsql immutable
as $$
begin
  if value is null or strpos(value::text, before) = 0 then
    return value;
  end if;
  return case jsonb_typeof(value)
    when 'string' then case
      when value #>> '{}' = before then to_jsonb(after)
      when value #>> '{}' = 'account:' || before then to_jsonb('account:' || after)
      when value #>> '{}' ~ ('(^|\s)' || regexp_replace(before, '([.@:/])', '\\\1', 'g') || '([\s,.]|$)')
        then to_jsonb(regexp_replace(value #>> '{}', '(^|\s)' || regexp_replace(before, '([.@:/])', '\\\1', 'g') || '(?=[\s,.]|$)', '\1' || after, 'g'))
      else value end
    when 'array' then (select jsonb_agg(preauth._renamed(a.value, before, after) order by a.ordinality) from jsonb_array_elements(value) with ordinality as a)
    when 'object' then (select jsonb_object_agg(case o.key when before then after else o.key end, preauth._renamed(o.value, before, after)) from jsonb_each(value) as o)
    else value
  end;
end
$$;
comment on function preauth._renamed(jsonb, text, text) is 'A JSON value in which the name before is after wherever it stands: as a value, as a key, or as a word of a sentence.';

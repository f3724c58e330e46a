create function preauth._asks(call text, items jsonb, actors text[], within text[]) returns preauth._ask[]
language plpgsql stable
as $$
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  return array(
    select row(
      i.n, call, i.request_id, i.account_id,
      case when i.errors is null then preauth._normal_body(call, i.item) end,
      coalesce(actors[i.n], session_user), within[i.n],
      i.errors is null and coalesce((i.item ->> 'dry_run')::boolean, false),
      i.errors is null and row_number() over (partition by i.errors is null, i.request_id, i.account_id order by i.n) > 1,
      i.errors)::preauth._ask
    from (
      select a.ordinality::integer as n, a.value as item, a.value ->> 'request_id' as request_id, a.value ->> 'account_id' as account_id,
        case when not coalesce(plain.fields and a.value ?& preauth._required_fields(call) and preauth._amounts_presence_errors(call, a.value) = '[]', false)
          then preauth._shape_errors(call, a.value) end as errors
      from jsonb_array_elements(items) with ordinality as a
      cross join lateral (
        select bool_and(preauth._is_plain(call, f.key, f.value, u.key, u.value)) and count(u.key) <= 16 as fields
        from jsonb_each(case when jsonb_typeof(a.value) = 'object' then a.value end) as f
        left join lateral jsonb_each(case when f.key = 'amounts' and jsonb_typeof(f.value) = 'object' then f.value end) as u on true
      ) as plain
      offset 0  -- so that each item is looked at once
    ) as i
    order by i.n);
end
$$;
comment on function preauth._asks(text, jsonb, text[], text[]) is 'The items of a batch, checked and normalised, in their order. Raises PA001 unless items is an array of 1 to 512.';

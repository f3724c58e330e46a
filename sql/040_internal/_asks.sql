create function preauth._asks(call text, items jsonb, actors text[], within text[]) returns preauth._ask[]
language plpgsql stable
as $$
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  return array(
    select row(
      i.n, call, i.item ->> 'request_id', i.item ->> 'account_id', i.body, coalesce(actors[i.n], session_user), within[i.n],
      i.errors is null and coalesce((i.item ->> 'dry_run')::boolean, false),
      i.errors is null and row_number() over (partition by i.errors is null, i.item ->> 'request_id', i.item ->> 'account_id' order by i.n) > 1,
      i.errors)::preauth._ask
    from (
      select e.n, e.item, e.errors, case when e.errors is null then preauth._normal_body(call, e.item) end as body
      from (select a.ordinality::integer as n, a.value as item, preauth._shape_errors(call, a.value) as errors
            from jsonb_array_elements(items) with ordinality as a) as e
    ) as i
    order by i.n);
end
$$;
comment on function preauth._asks(text, jsonb, text[], text[]) is 'The items of a batch, checked and normalised, in their order. Raises PA001 unless items is an array of 1 to 512.';

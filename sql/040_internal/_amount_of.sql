create function preauth._amount_of(amounts jsonb, unit text) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when amounts ? unit and unit <> 'open_holds' then (amounts ->> unit)::bigint
    when unit in ('requests', 'open_holds') then 1
  end;
end
$$;
comment on function preauth._amount_of(jsonb, text) is 'What {unit: amount} asks of a budget in a unit: one request and one open hold unless it says otherwise of requests; null when it cannot be told.';

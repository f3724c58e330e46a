create function preauth._left_over(limit_amount bigint, raised bigint, taken bigint, rollover jsonb) returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when taken > limit_amount and (rollover ->> 'overspend')::boolean then limit_amount - taken
    else least(greatest(limit_amount - raised - taken, 0), (rollover ->> 'max')::bigint)
  end;
end
$$;
comment on function preauth._left_over(bigint, bigint, bigint, jsonb) is
  'What a window that ends with a limit, so much of it raised, and with so much taken (settled and held) leaves to the next, in the budget''s unit: negative when more is taken than the limit, and that is carried. A temporary raise is not left over.';

create function preauth._asked_amounts(body jsonb, option_no integer, quotes preauth._quote[], first_quote integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when first_quote is null then preauth._option_amounts(body, option_no) else quotes[first_quote + option_no].amounts end;
end
$$;
comment on function preauth._asked_amounts(jsonb, integer, preauth._quote[], integer) is 'What an option asks for, {unit: ceiling}: as quoted where the request is priced, else as it says.';

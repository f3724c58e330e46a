create function preauth._option_quote(body jsonb, option_no integer, tariffs preauth._tariff[]) returns preauth._quote
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  counts jsonb := preauth._option_counts(body, option_no);
  model text := preauth._option_model(body, option_no);
begin
  return case
    when counts is null then row(preauth._option_amounts(body, option_no), null, '{}')::preauth._quote
    else preauth._quote(case when model is not null then tariffs else array[]::preauth._tariff[] end, model, counts, not body ? 'usage', preauth._option_amounts(body, option_no))
  end;
end
$$;
comment on function preauth._option_quote(jsonb, integer, preauth._tariff[]) is 'What an option of a priced request asks of budgets.';

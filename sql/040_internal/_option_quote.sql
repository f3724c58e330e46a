create function preauth._option_quote(body jsonb, option_no integer, tariffs preauth._tariff[]) returns preauth._quote
language plpgsql stable
as $$
begin
  if preauth._option_counts(body, option_no) is null then
    return row(preauth._option_amounts(body, option_no), null, '{}')::preauth._quote;
  end if;
  return preauth._quote(case when body ->> 'model' is null and preauth._option_model(body, option_no) is null then '{}' else tariffs end,
    preauth._option_model(body, option_no), preauth._option_counts(body, option_no), not body ? 'usage', preauth._option_amounts(body, option_no));
end
$$;
comment on function preauth._option_quote(jsonb, integer, preauth._tariff[]) is 'What an option of a priced request asks of budgets.';

create function preauth._options(body jsonb)
returns table (option_no smallint, model text, amounts jsonb)
language sql stable
as $$
  select 0::smallint, body ->> 'model', body -> 'amounts'
  union all
  select a.ordinality::smallint, coalesce(a.value ->> 'model', body ->> 'model'), a.value -> 'amounts'
  from jsonb_array_elements(body -> 'alternatives') with ordinality as a
$$;
comment on function preauth._options(jsonb) is 'What a request asks for, in the order of trying: 0 is the request itself, k its k-th alternative (for the same model unless it names another).';

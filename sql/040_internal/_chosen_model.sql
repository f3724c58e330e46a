create function preauth._chosen_model(body jsonb, option_no smallint) returns text
language sql stable
as $$
  select case when option_no = 0 then body ->> 'model' else coalesce(body -> 'alternatives' -> (option_no - 1) ->> 'model', body ->> 'model') end
$$;
comment on function preauth._chosen_model(jsonb, smallint) is 'The model of a request''s option: 0 is the request itself, k its k-th alternative.';

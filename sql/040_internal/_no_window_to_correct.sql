create function preauth._no_window_to_correct(account_id text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ->> 'window' is null
    then preauth._problem('budget_unknown', format('No budget %s applies to account %s.', body ->> 'budget', account_id))
    else preauth._problem('window_unknown', format('Budget %s of account %s has no window %s.', body ->> 'budget', account_id, body ->> 'window')) end;
end
$$;
comment on function preauth._no_window_to_correct(text, jsonb) is 'Why there is nothing to correct, as a problem.';

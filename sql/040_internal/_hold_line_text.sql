-- Ids, names, units and window keys have no character that JSON escapes: their CHECKs say so.
create function preauth._hold_line_text(account_id text, budget text, scope text, unit text, window_key text, amount bigint, available bigint) returns text
language sql stable
as $$
  select case when scope = account_id
    then format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "amount": %s, "available": %s}',
      budget, scope, unit, window_key, amount, coalesce(available::text, 'null'))
    else format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "amount": %s}', budget, scope, unit, window_key, amount)
  end
$$;
comment on function preauth._hold_line_text(text, text, text, text, text, bigint, bigint) is
  'A line of an authorization of the account as JSON text, with what is available after it only where the window is the account''s own.';

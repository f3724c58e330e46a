create function preauth._is_denial(verdict text) returns boolean
language sql stable
as $$
  select verdict in ('budget_exhausted', 'exceeds_limit', 'too_many_holds', 'account_unknown', 'account_suspended', 'no_budget')
$$;
comment on function preauth._is_denial(text) is 'Whether a verdict is a denial, which is recorded and final for its request_id; other refusals leave no trace.';

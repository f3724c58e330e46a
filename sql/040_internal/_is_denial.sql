create function preauth._is_denial(verdict text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return verdict in ('budget_exhausted', 'exceeds_limit', 'too_many_holds', 'account_unknown', 'account_suspended', 'no_budget');
end
$$;
comment on function preauth._is_denial(text) is 'Whether a verdict is a denial, which is recorded and final for its request_id; other refusals leave no trace.';

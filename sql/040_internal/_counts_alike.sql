create function preauth._counts_alike(one preauth.budget, other preauth.budget) returns boolean
language sql stable
as $$ select (one.name, one.unit, one.window_policy, one.model) is not distinct from (other.name, other.unit, other.window_policy, other.model) $$;
comment on function preauth._counts_alike(preauth.budget, preauth.budget) is
  'Whether two budgets count the same: name, unit, window and model are equal. Then one may take up the windows of the other.';

create function preauth._counts_alike(one preauth.budget, other preauth.budget) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (one.name, one.unit, one.window_policy, one.model) is not distinct from (other.name, other.unit, other.window_policy, other.model);
end
$$;
comment on function preauth._counts_alike(preauth.budget, preauth.budget) is
  'Whether two budgets count the same: name, unit, window and model are equal. Then one may take up the windows of the other.';

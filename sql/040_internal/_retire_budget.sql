create function preauth._retire_budget(budget_id bigint, actor text, reason text) returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  retired preauth.budget;
begin
  update preauth.budget as b set retired_at = preauth._now() where b.budget_id = _retire_budget.budget_id returning b.* into retired;
  perform preauth._log_change(actor, 'budget', retired.owner || '/' || retired.name, preauth._budget_json(retired), null, reason);
  return retired.retired_at;
end
$$;
comment on function preauth._retire_budget(bigint, text, text) is 'A budget stops applying to new calls; its windows and what they hold stay.';

create function preauth._opening(
  scope text, budget preauth.budget, zone text, starts_at timestamptz, ends_at timestamptz, at timestamptz,
  out limit_amount bigint, out settled bigint, out rolled_over bigint, out raised bigint, out raised_until timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  carried bigint := 0;
begin
  if budget.rollover is not null then
    carried := preauth._carried_over(scope, budget, zone, starts_at, at);
  end if;
  rolled_over := greatest(carried, 0);
  settled := greatest(-carried, 0);
  limit_amount := case when budget.limit_amount is not null then least(budget.limit_amount + rolled_over, 9007199254740991) end;
  select r.raised, r.raised_until into raised, raised_until
  from preauth._raise_of(scope, budget.name, budget.unit, limit_amount, ends_at, at) as r;
  limit_amount := limit_amount + raised;
end
$$;
comment on function preauth._opening(text, preauth.budget, text, timestamptz, timestamptz, timestamptz) is
  'What a new window begins with, in the budget''s unit: its limit with what rolls over and what is raised, and what counts as spent because the window before was overspent.';

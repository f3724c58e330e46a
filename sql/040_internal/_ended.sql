create function preauth._ended(
  scope text, zone text, budget preauth.budget, previous preauth.budget_window, at timestamptz,
  out limit_amount bigint, out raised bigint, out periods bigint, out per_period bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  former preauth.budget;
  passed timestamptz := previous.ends_at;
begin
  periods := 0;
  per_period := 0;
  if previous.window_id is null or budget.rollover is null or budget.limit_amount is null then
    return;
  end if;
  former := preauth._budget_at(previous, previous.ends_at);
  select e.limit_amount, e.raised into limit_amount, raised from preauth._limit_at_end(previous, former) as e;
  if limit_amount is null or budget.window_policy ->> 'kind' = 'fixed' then
    return;
  end if;
  per_period := least(budget.limit_amount, former.limit_amount);
  loop
    passed := preauth._period_ends_at(scope, zone, budget, passed);
    exit when passed > at;
    periods := periods + 1;
  end loop;
end
$$;
comment on function preauth._ended(text, text, preauth.budget, preauth.budget_window, timestamptz) is
  'How a budget''s last window ended, for what rolls over: its limit then and how much of it was raised (null: nothing is carried); how many periods have passed since without a window by an instant, and what each leaves, in the unit: of two budgets the lower limit.';

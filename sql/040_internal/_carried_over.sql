create function preauth._carried_over(scope text, budget preauth.budget, zone text, starts_at timestamptz, at timestamptz) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  anchor constant date := case when budget.window_policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  previous preauth.budget_window := preauth._window_before(scope, budget, starts_at);
  former preauth.budget;
  ended record;
  carried bigint;
  passed timestamptz;
begin
  if previous.window_id is null then
    return 0;
  end if;
  former := preauth._budget_at(previous, previous.ends_at);
  ended := preauth._limit_at_end(previous, former);
  if ended.limit_amount is null or budget.limit_amount is null then
    return 0;
  end if;
  carried := preauth._left_over(
    ended.limit_amount, ended.raised, previous.settled + previous.reserved - preauth._lapsed(previous.window_id, at), budget.rollover);
  passed := previous.ends_at;
  -- a period in which nothing was spent has no window, and leaves its whole limit
  while passed < starts_at and carried < most and least(budget.limit_amount, former.limit_amount) > 0 and budget.window_policy ->> 'kind' <> 'fixed' loop
    carried := least(carried + least(budget.limit_amount, former.limit_amount), most);
    select b.ends_at into passed from preauth._window_bounds(budget.window_policy, anchor, zone, passed) as b;
  end loop;
  return carried;
end
$$;
comment on function preauth._carried_over(text, preauth.budget, text, timestamptz, timestamptz) is
  'What the windows before one that starts at starts_at and is made at an instant leave to it, in the budget''s unit: positive what is left, negative what was overspent. Those of budgets that count alike are before it too; what they then held counts as spent, a lease until it lapses. A period without a window leaves the limit, of two budgets the lower.';

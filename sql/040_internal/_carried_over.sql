create function preauth._carried_over(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamptz) returns bigint
language plpgsql stable
as $$
declare
  anchor constant date := case when budget.window_policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  previous preauth.budget_window;
  carried bigint;
  passed timestamptz;
begin
  select w.* into previous from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = counter_id and w.ends_at <= _carried_over.starts_at
  order by w.starts_at desc limit 1;
  if previous.limit_amount is null or budget.limit_amount is null then
    return 0;
  end if;
  carried := preauth._left_over(previous, budget.rollover);
  passed := previous.ends_at;
  -- a period in which nothing was spent has no window, and leaves its whole limit
  while passed < starts_at and carried < most and budget.limit_amount > 0 and budget.window_policy ->> 'kind' <> 'fixed' loop
    carried := least(carried + budget.limit_amount, most);
    select b.ends_at into passed from preauth._window_bounds(budget.window_policy, anchor, zone, passed) as b;
  end loop;
  return carried;
end
$$;
comment on function preauth._carried_over(text, bigint, preauth.budget, text, timestamptz) is
  'What the windows before one that starts at an instant leave to it, in the budget''s unit: positive what is left, negative what was overspent.';

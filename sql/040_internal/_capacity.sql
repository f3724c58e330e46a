create function preauth._capacity(budget preauth.budget, limit_amount bigint) returns bigint
language sql stable
as $$
  select case budget.enforcement
    when 'observe' then preauth._most_counted()
    else least(limit_amount + budget.overdraft_amount, preauth._most_counted())
  end
$$;
comment on function preauth._capacity(preauth.budget, bigint) is 'The most that settled + reserved may reach by a decision, in the budget''s unit: preauth._most_counted() where the limit is null or the budget only observes.';

create function preauth._limit_with(w preauth.budget_window, limit_amount bigint) returns bigint
language sql stable
as $$ select case when limit_amount is not null then least(limit_amount + w.rolled_over + w.raised, 9007199254740991) end $$;
comment on function preauth._limit_with(preauth.budget_window, bigint) is
  'The limit of a window under a budget''s limit, in the unit: what rolled over and what is raised comes on top. null: unlimited.';

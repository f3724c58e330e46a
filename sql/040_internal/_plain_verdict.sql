create function preauth._plain_verdict(prior text, replayed boolean, enforced boolean, wanted bigint[], missing_unit text) returns text
language sql stable
as $$
  select case
    when prior in ('malformed', 'forbidden', 'recorded') then prior
    when replayed then 'recorded'
    when prior is not null then prior
    when not enforced then null
    when missing_unit is not null then 'amount_missing'
    when num_nonnulls(variadic wanted) = 0 then 'no_budget'
  end
$$;
comment on function preauth._plain_verdict(text, boolean, boolean, bigint[], text) is 'The verdict where no window''s level matters; null where it does.';

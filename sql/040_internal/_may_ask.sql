create function preauth._may_ask(asks preauth._ask[], n integer) returns boolean
language sql stable
as $$
  select case
    when asks[n].within is null or asks[n].within = asks[n].account_id then true
    else preauth._is_within(asks[n].account_id, asks[n].within)
  end
$$;
comment on function preauth._may_ask(preauth._ask[], integer) is 'Whether item n asks for an account that its caller is bound to.';

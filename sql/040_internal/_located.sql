create function preauth._located(inout asks preauth._ask[], out refused preauth._answer[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted preauth._ask[] := asks;
  found record;
  was_left_out boolean := false;
begin
  asks := '{}';
  refused := '{}';
  for n in 1 .. cardinality(wanted) loop
    if wanted[n].errors is not null then
      refused := refused || preauth._problem_answer(n, preauth._lifecycle_refusal(wanted[n], 'malformed'));
    elsif wanted[n].account_id is null then
      found := preauth._locate(wanted[n]);
      was_left_out := true;
      if found.problem is not null then
        refused := refused || preauth._problem_answer(n, preauth._lifecycle_refusal(wanted[n], found.problem));
      else
        asks := asks || preauth._of_account(wanted[n], found.account_id);
      end if;
    elsif wanted[n].within is null or wanted[n].within = wanted[n].account_id or preauth._is_within(wanted[n].account_id, wanted[n].within) then
      asks := asks || wanted[n];
    else
      refused := refused || preauth._problem_answer(n, preauth._lifecycle_refusal(wanted[n], 'forbidden'));
    end if;
  end loop;
  if was_left_out and cardinality(asks) > 1 then
    asks := preauth._with_twins(asks);
  end if;
end
$$;
comment on function preauth._located(preauth._ask[]) is 'The asks with the account each means, and the answers to those that are malformed, may not ask, or cannot be told apart.';

create function preauth._close_unused_accounts(opened text[], asks preauth._ask[], rulings preauth._ruling[]) returns void
language plpgsql
as $$
begin
  if cardinality(opened) = 0 then
    return;
  end if;
  delete from preauth.account as a
  where a.account_id = any (opened)
    and not exists (
      select from unnest(asks) as k
      join unnest(rulings) as r on r.n = k.n
      where k.account_id = a.account_id and (r.verdict = 'authorized' or preauth._is_denial(r.verdict)));
end
$$;
comment on function preauth._close_unused_accounts(text[], preauth._ask[], preauth._ruling[]) is
  'Takes back the accounts that this batch has made and none of whose requests was decided: a refusal writes nothing.';

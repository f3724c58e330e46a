create function preauth._close_unused_accounts(opened text[], asks preauth._ask[], rulings preauth._ruling[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  with unused as (
    delete from preauth.account as a
    where a.account_id = any (opened)
      and not exists (
        select from unnest(asks) as k
        join unnest(rulings) as r on r.n = k.n
        where k.account_id = a.account_id and (r.verdict = 'authorized' or preauth._is_denial(r.verdict)))
    returning a.account_id
  )
  delete from preauth.budget_window as w using unused as u where w.account_id = u.account_id;
end
$$;
comment on function preauth._close_unused_accounts(text[], preauth._ask[], preauth._ruling[]) is
  'Takes back the accounts (and their windows) that this batch has made and none of whose requests was decided: a refusal writes nothing.';

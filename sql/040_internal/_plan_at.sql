create function preauth._plan_at(account preauth.account, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when account.plan_changes_at <= at then account.next_plan_id else account.plan_id end;
end
$$;
comment on function preauth._plan_at(preauth.account, timestamptz) is 'The account''s plan at an instant, whether or not a scheduled change has been written down yet.';

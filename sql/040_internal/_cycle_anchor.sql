create function preauth._cycle_anchor(account_id text, zone text) returns date
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(a.cycle_anchor, (a.created_at at time zone zone)::date)
  from preauth.account as a where a.account_id = _cycle_anchor.account_id
$$;
comment on function preauth._cycle_anchor(text, text) is 'The date from which an account''s billing cycles are counted: its cycle_anchor, else the day it was made.';

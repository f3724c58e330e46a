create function preauth_api.my_reservations(max_count integer default 50, cursor text default null) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  claimed text := preauth._claimed_account();
  errors jsonb := preauth._page_errors(max_count, cursor);
  before record;
begin
  if claimed is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._decision_json(r, preauth._now()) order by r.created_at desc, r.request_id desc),
    array_agg(preauth._cursor(r.created_at, r.request_id, r.account_id) order by r.created_at desc, r.request_id desc), max_count))
  from (
    select x.*
    from preauth.reservation as x
    where x.account_id collate "C" = claimed and x.created_at <= before.at
      and (x.created_at, x.request_id) < (before.at, before.first_key)
    order by x.created_at desc, x.request_id desc
    limit max_count + 1
  ) as r;
end
$$;
comment on function preauth_api.my_reservations(integer, text) is
  'What the account that the caller''s JWT names has asked for, newest first: {items, next_cursor}. max_count: 1 to 500. cursor: the next_cursor of the page before. 403 forbidden without an account.';

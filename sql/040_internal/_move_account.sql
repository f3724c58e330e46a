create function preauth._move_account(account_id text, parent_id text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  above text[] := coalesce((select p.path from preauth.account as p where p.account_id = _move_account.parent_id), '{}');
begin
  update preauth.account as a
  set path = a.path[1:array_position(a.path, _move_account.account_id)] || above,
    parent_id = case when a.account_id = _move_account.account_id then _move_account.parent_id else a.parent_id end
  where a.path @> array[_move_account.account_id];
end
$$;
comment on function preauth._move_account(text, text) is 'Puts an account, and all below it, under another parent (null: none). Open holds stay on the windows they were made on.';

create function preauth._forget(account_id text, pseudonym text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  statement text;
begin
  update preauth.reservation as r
  set body = r.body - array['labels', 'session_id']
  where r.account_id collate "C" = _forget.account_id and r.body ?| array['labels', 'session_id'];
  update preauth.usage_event as u set provider_request_id = null
  where u.account_id = _forget.account_id and u.provider_request_id is not null;
  delete from preauth.route as r where _forget.account_id = any (r.path);
  insert into preauth.account
  select (jsonb_populate_record(a, jsonb_build_object('account_id', pseudonym, 'path', array_replace(a.path, _forget.account_id, pseudonym)))).*
  from preauth.account as a where a.account_id = _forget.account_id;
  update preauth.account as a
  set path = array_replace(a.path, _forget.account_id, pseudonym), parent_id = case a.parent_id when _forget.account_id then pseudonym else a.parent_id end
  where a.path @> array[_forget.account_id] and a.account_id <> _forget.account_id;
  for statement in select * from preauth._rename_statements() loop
    execute statement using _forget.account_id, pseudonym;
  end loop;
  update preauth.change_log as c
  set subject_id = preauth._renamed_subject(c.subject_id, _forget.account_id, pseudonym)
  where preauth._renamed_subject(c.subject_id, _forget.account_id, pseudonym) is not null
    and c.subject not in ('plan', 'price_table', 'api_key')
    and not exists (
      select from preauth.account as a
      where starts_with(a.account_id, _forget.account_id || '/')
        and (c.subject_id = a.account_id or preauth._renamed_subject(c.subject_id, a.account_id, '') is not null));
  delete from preauth.account as a where a.account_id = _forget.account_id;
end
$$;
comment on function preauth._forget(text, text) is 'Gives an account another name everywhere. Its windows are locked, and it holds nothing.';

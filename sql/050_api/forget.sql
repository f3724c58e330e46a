create function preauth_api.forget(account_id text, reason text default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  pseudonym text := 'forgotten:' || replace(gen_random_uuid()::text, '-', '');
  due preauth._ask[];
  held bigint;
begin
  if not coalesce(preauth._is_line(to_jsonb(reason), 256), false) then
    return preauth._answered(preauth._malformed(preauth._error('reason', 'must be a string of 1 to 256 characters, none of them a control character')));
  end if;
  perform preauth._lock_configuration();
  due := preauth._lock_due(account_id, preauth._now());
  lock table preauth.account in share row exclusive mode;
  perform from preauth._lock_windows(array(
    select w.window_id from preauth.budget_window as w where w.account_id = forget.account_id
    union
    select h.window_id from unnest(preauth._holdings(preauth._held(due))) as h));
  if not exists (select from preauth.account as a where a.account_id = forget.account_id) then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', account_id)));
  end if;
  perform preauth._expire(due, null, preauth._now());
  select count(*) into held from preauth.reservation as r
  where r.account_id collate "C" = forget.account_id and r.state not in ('settled', 'released', 'lapsed', 'denied');
  if held > 0 then
    return preauth._answered(preauth._problem('holds_open', format('Account %s has %s open holds: settle, release or resolve them first.', account_id, held)));
  end if;
  perform preauth._forget(account_id, pseudonym);
  perform preauth._log_change(actor, 'account', pseudonym, null, '{"forgotten": true}', reason);
  return preauth._answered(jsonb_build_object('account_id', pseudonym, 'forgotten', true));
end
$$;
comment on function preauth_api.forget(text, text, text) is
  'Gives an account another name in every table and drops what callers said of it (labels, session and provider ids); amounts, times and request ids stay, so all sums do. It cannot be undone, and nobody can tell the new name from the old. What time has ended is written down first. 409 holds_open while it holds something.';

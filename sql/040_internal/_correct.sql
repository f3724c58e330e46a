create function preauth._correct(call text, account_id text, body jsonb, actor text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := preauth._correction_errors(call, body);
  request constant jsonb := jsonb_strip_nulls(body) || jsonb_build_object('call', call);
  earlier preauth.correction;
  at timestamptz;
  target preauth.budget_window;
  amount bigint;
begin
  if errors <> '[]' then
    return preauth._malformed(errors);
  end if;
  at := preauth._begin_change(array[account_id], null, array[body ->> 'budget'], body ->> 'window');
  if not exists (select from preauth.account as a where a.account_id = _correct.account_id) then
    return preauth._problem('account_unknown', format('Account %s is not known.', account_id));
  end if;
  select c.* into earlier from preauth.correction as c
  where c.account_id = _correct.account_id and c.idempotency_key = _correct.body ->> 'idempotency_key';
  if earlier.body is not null then
    return case when earlier.body = request then earlier.reply || '{"replayed": true}' else preauth._problem('request_id_conflict',
      format('Correction %s of account %s was another one; nothing was changed.', body ->> 'idempotency_key', account_id),
      jsonb_build_object('account_id', account_id, 'idempotency_key', body ->> 'idempotency_key')) end;
  end if;
  select w.* into target from preauth._lock_windows(array[preauth._window_to_correct(account_id, body ->> 'budget', body ->> 'window', at)]) as w;
  if target.window_id is null then
    return preauth._no_window_to_correct(account_id, body);
  end if;
  amount := case call when 'reset' then -target.settled else (body ->> 'amount')::bigint end;
  -- what late spend has brought beyond the bound can be corrected towards it
  if abs(target.settled + amount) > greatest(9007199254740991, abs(target.settled)) then
    return preauth._problem('amount_out_of_range', 'What the window has settled would pass 9007199254740991, up or down.');
  end if;
  return preauth._write_correction(target, amount, request, at, actor);
end
$$;
comment on function preauth._correct(text, text, jsonb, text) is
  'Corrects what a window counts as settled, by an adjustment event: call adjust by the amount given, call reset to nothing. No correction brings settled beyond 9007199254740991 either way. Settled lines and earlier events stay. The same idempotency_key again answers as before and moves nothing.';

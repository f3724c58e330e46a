create function preauth_api.rerate(
  wrong_table bigint default null, right_table bigint default null, since timestamptz default null, until timestamptz default null,
  confirm boolean default false, reason text default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._rerate_errors(wrong_table, right_table, since, until, reason);
  refusal jsonb;
  tariff preauth._tariff;
  reratings preauth._rerating[];
  problem jsonb;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  -- one rerating of a table at a time; nobody who prices waits
  perform from preauth.price_table as t where t.price_table_id in (wrong_table, right_table) order by t.price_table_id for no key update;
  refusal := preauth._rerate_refusal(wrong_table, right_table);
  if refusal is not null then
    return preauth._answered(refusal);
  end if;
  tariff := (preauth._tariffs_of(array[right_table]))[1];
  reratings := preauth._reratings(wrong_table, tariff, since, until);
  if coalesce(confirm, false) then
    perform preauth._lock_windows(array(select w.window_id from preauth._rerated_windows(reratings, tariff.unit) as w));
  end if;
  problem := preauth._rerate_problem(reratings, right_table, tariff.unit);
  if problem is not null then
    return preauth._answered(problem);
  end if;
  if coalesce(confirm, false) then
    perform preauth._write_reratings(reratings, wrong_table, right_table, tariff.unit, actor, reason);
  end if;
  return preauth._answered(jsonb_build_object('wrong_table', wrong_table, 'right_table', right_table, 'unit', tariff.unit, 'since', preauth._time(since),
    'until', preauth._time(until), 'confirmed', coalesce(confirm, false)) || preauth._rerate_summary(reratings));
end
$$;
comment on function preauth_api.rerate(bigint, bigint, timestamptz, timestamptz, boolean, text, text) is
  'Prices what was spent from since until before until by the wrong table once more, by the right one, and tells the difference by account, in the tables'' unit. confirm: each window moves by an adjustment. What is rerated is not rerated again: the same call then finds nothing to do.';

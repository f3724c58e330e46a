create function preauth._fresh_answer(
  ask preauth._ask, ruling preauth._ruling, lines preauth._line[], slots preauth._slot[], places integer[], reserved bigint[], at timestamptz)
returns preauth._answer
language plpgsql immutable
as $$
declare
  body json;
  available bigint[];
begin
  if ruling.denial is not null then
    available := array(select (slots[p.place]).limit_amount - (slots[p.place]).settled - reserved[p.place]
                       from unnest(places) with ordinality as p (place, i) order by p.i);
    return row(ask.n, preauth._denial_status(ruling.denial),
      preauth._with_retry_after(preauth._tightest_headers(ask.account_id, slots, places, available, at), ruling.denial),
      preauth._denial_body(ask.request_id, ask.account_id, ruling.denial, false)::json);
  end if;
  select preauth._authorization(
      ask.request_id, ask.account_id, case when ask.call = 'charge' then 'settled' else 'authorized' end,
      coalesce(ask.body -> 'alternatives' -> (ruling.option_no - 1) ->> 'model', ask.body ->> 'model'),
      ruling.option_no, coalesce(json_agg(preauth._hold_line_json(
        ask.account_id, s.budget, s.scope, s.unit, s.window_key, l.amount, l.available_after) order by l.position), '[]'),
      preauth._expiry(ask, at), coalesce(bool_or(l.available_after < 0), false), false,
      ask.call, coalesce((ask.body ->> 'record')::boolean, false), ask.dry_run),
    array_agg(l.available_after order by l.position), array_agg(l.slot order by l.position)
  into body, available, places
  from unnest(lines) as l
  cross join lateral (select (slots[l.slot]).*) as s;
  return row(ask.n, 200, preauth._tightest_headers(ask.account_id, slots, places, available, at), body);
end
$$;
comment on function preauth._fresh_answer(preauth._ask, preauth._ruling, preauth._line[], preauth._slot[], integer[], bigint[], timestamptz) is
  'The answer to an item that was decided just now.';

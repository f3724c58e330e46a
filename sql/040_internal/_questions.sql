create function preauth._questions(asks preauth._ask[], routes preauth._route[], slot_ids bigint[])
returns table (
  n integer, option_no smallint, is_last boolean, twin boolean, enforced boolean,
  verdict text, missing_unit text, wanted bigint[], places integer[])
language sql stable
as $$
  select
    a.n, o.option_no, o.option_no = coalesce(jsonb_array_length(a.body -> 'alternatives'), 0), a.twin,
    not coalesce((a.body ->> 'record')::boolean, false),
    preauth._prior_verdict(a, r, x.request_id is not null),
    w.missing_unit, coalesce(w.wanted, '{}'), coalesce(w.places, '{}')
  from unnest(asks) as a
  cross join lateral preauth._options(a.body) as o
  left join unnest(routes) as r on r.account_id = a.account_id and r.model is not distinct from o.model
  left join preauth.reservation as x on x.request_id = a.request_id and x.account_id = a.account_id
  cross join lateral (
    select
      array_agg(preauth._amount_of(o.amounts, u.unit) order by u.ordinality) as wanted,
      array_agg(array_position(slot_ids, u.window_id) order by u.ordinality) as places,
      (array_agg(u.unit order by u.ordinality) filter (where u.hard and preauth._amount_of(o.amounts, u.unit) is null))[1] as missing_unit
    from unnest(r.window_ids, r.units, r.hard) with ordinality as u (window_id, unit, hard)
    where not (a.call = 'charge' and u.unit = 'open_holds')
  ) as w
  order by a.n, o.option_no
$$;
comment on function preauth._questions(preauth._ask[], preauth._route[], bigint[]) is
  'Each item''s options in the order of trying (a charge is never open): what each asks of which slot (null: it cannot be told), the first unit that a hard budget counts and the option does not tell, and the verdict where no budget need be looked at.';

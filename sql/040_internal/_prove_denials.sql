create function preauth._prove_denials(
  asks preauth._ask[], routes preauth._route[], slots preauth._slot[], reserved bigint[], lines preauth._line[], at timestamptz,
  inout rulings preauth._ruling[])
language plpgsql
as $$
declare
  lapses preauth._lapse[];
begin
  if not preauth._has_denial(rulings) then
    return;
  end if;
  lapses := preauth._lapses(slots, lines, array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n), at, 256);
  rulings := array(
    select case
      when preauth._is_denial(r.verdict) then row(r.n, r.verdict, r.option_no, r.slot, r.required, r.available, r.detail,
        preauth._denial(r, slots[r.slot],
          case when r.slot is not null then preauth._fits_at(q.places, q.wanted, slots, reserved, lapses, at) end, at))::preauth._ruling
      else r
    end
    from unnest(rulings) as r
    left join preauth._questions(asks, routes, array(select s.window_id from unnest(slots) as s)) as q
      on preauth._is_denial(r.verdict) and q.n = r.n and q.option_no = 0
    order by r.n);
end
$$;
comment on function preauth._prove_denials(preauth._ask[], preauth._route[], preauth._slot[], bigint[], preauth._line[], timestamptz, preauth._ruling[]) is
  'Adds to each denial the figures that prove it and when to come again.';

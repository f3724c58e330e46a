create function preauth._decide(
  asks preauth._ask[], routes preauth._route[], slots preauth._slot[], at timestamptz,
  inout reserved bigint[], out rulings preauth._ruling[], out lines preauth._line[])
language plpgsql
as $$
declare
  slot_ids bigint[] := array(select s.window_id from unnest(slots) as s);
  looked_back bigint[] := array[]::bigint[];
  decided integer := 0;
  q record;
  short integer;
  freed bigint;
  ruling preauth._ruling;
  first_ruling preauth._ruling;
begin
  rulings := '{}';
  lines := '{}';
  for q in select * from preauth._questions(asks, routes, slot_ids) loop
    continue when q.n = decided;
    ruling := row(q.n, preauth._plain_verdict(q.verdict, q.twin and preauth._is_decided(q.n, asks, rulings), q.enforced, q.wanted, q.missing_unit),
      q.option_no, null, null, null, q.missing_unit, null);
    if ruling.verdict is null then
      short := preauth._first_shortage(slots, reserved, q.places, q.wanted, q.enforced);
      while short is not null and slot_ids[q.places[short]] <> all (looked_back) and q.wanted[short] <= slots[q.places[short]].capacity loop
        freed := preauth._give_back(slot_ids[q.places[short]], at);
        if freed is null then
          looked_back := looked_back || slot_ids[q.places[short]];
        end if;
        reserved[q.places[short]] := reserved[q.places[short]] - coalesce(freed, 0);
        short := preauth._first_shortage(slots, reserved, q.places, q.wanted, q.enforced);
      end loop;
      if short is not null then
        ruling := preauth._shortage_ruling(q.n, q.option_no, q.places[short], slots[q.places[short]], reserved[q.places[short]], q.wanted[short]);
      end if;
    end if;
    if ruling.verdict is null then
      ruling.verdict := 'authorized';
      for k in 1 .. cardinality(q.places) loop
        continue when q.wanted[k] is null;
        lines := lines || row(q.n, k, q.places[k], q.wanted[k],
          slots[q.places[k]].limit_amount - slots[q.places[k]].settled - reserved[q.places[k]] - q.wanted[k])::preauth._line;
        reserved[q.places[k]] := reserved[q.places[k]] + q.wanted[k];
      end loop;
    end if;
    if q.option_no = 0 then
      first_ruling := ruling;
    end if;
    if q.is_last or not preauth._is_denial(ruling.verdict) then
      rulings := rulings || case when preauth._is_denial(ruling.verdict) then first_ruling else ruling end;
      decided := q.n;
    end if;
  end loop;
end
$$;
comment on function preauth._decide(preauth._ask[], preauth._route[], preauth._slot[], timestamptz, bigint[]) is
  'Decides the items in their order against locked slots: each holds on every budget that applies or on none; its first option that fits is authorized. reserved: the slots'' reserved amounts before, and after.';

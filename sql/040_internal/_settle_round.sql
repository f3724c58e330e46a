create function preauth._settle_round(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  ready preauth._ask[] := array[]::preauth._ask[];
  f record;
begin
  perform preauth._expire(asks, 'charge', at);
  for f in
    select v.*, a as ask from preauth._settle_findings(asks, at) as v join unnest(asks) as a on a.n = v.n order by v.n
  loop
    case f.verdict
      when 'settle' then
        ready := ready || preauth._with_amounts(f.ask, f.amounts);
      when 'replay' then
        return next row(f.n, 200, null, (f.reply || '{"replayed": true}')::json, null)::preauth._answer;
      when 'mark_unknown' then
        return next preauth._mark_unknown(f.ask, at);
      when 'mark_exceeding' then
        return next preauth._mark_exceeding(f.ask, at);
      else
        return next preauth._refuse_settlement(f.ask, f.verdict, f.missing_unit, at);
    end case;
  end loop;
  return query select * from preauth._settle(ready, at);
end
$$;
comment on function preauth._settle_round(preauth._ask[], timestamptz) is 'Settles, or says why not: one call each on locked reservations that are all different.';

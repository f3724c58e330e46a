create function preauth._settle_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  ready preauth._ask[] := array[]::preauth._ask[];
  closings preauth._closing[] := array[]::preauth._closing[];
  holdings preauth._holding[];
  f record;
  from_line integer := 1;
  to_line integer;
  so_far bigint := 0;
begin
  if preauth._is_charge_due(held, at) then
    perform preauth._expire(asks, 'charge', at);
    held := preauth._held(asks);
  end if;
  asks := preauth._with_costs(asks, held);
  holdings := preauth._holdings(held);
  for k in 1 .. cardinality(asks) loop
    f := preauth._settle_finding(asks[k], held[k], k, holdings, from_line, closings, so_far, at);
    to_line := f.to_line;
    case f.verdict
      when 'settle' then
        ready := ready || case when asks[k].body -> 'amounts' is null then preauth._with_amounts(asks[k], f.amounts) else asks[k] end;
        so_far := so_far + coalesce(f.most, 0);
        for l in from_line .. to_line loop
          closings := closings || row(held[k].created_at, asks[k].request_id, asks[k].account_id, holdings[l].position, holdings[l].window_id, 'settled',
            f.spent[l - from_line + 1])::preauth._closing;
        end loop;
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (preauth._prior_reply(asks[k], held[k]) || '{"replayed": true}')::json, null)::preauth._answer;
      when 'mark_unknown' then
        answers := answers || preauth._mark_unknown(asks[k], held[k], at);
      when 'mark_exceeding' then
        answers := answers || preauth._mark_exceeding(asks[k], held[k], at);
      else
        answers := answers || preauth._refuse_settlement(asks[k], f.verdict, f.missing_unit, at);
    end case;
    from_line := to_line + 1;
  end loop;
  if cardinality(ready) > 0 then
    answers := answers || preauth._write_settlements(ready, preauth._close_lines(closings, at), at);
  end if;
  return answers;
end
$$;
comment on function preauth._settle_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Settles, replays or refuses, one call each on locked reservations that are all different.';

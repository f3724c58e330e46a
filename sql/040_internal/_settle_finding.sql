-- What earlier items of the round spend on a window is added up only where it could matter: so_far is the most that they can have added to any.
create function preauth._settle_finding(
  ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, closings preauth._closing[], so_far bigint, at timestamptz,
  out verdict text, out amounts jsonb, out spent bigint[], out missing_unit text, out to_line integer, out most bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  amount bigint;
  state text := held.state;
  exceeds boolean := false;
  uncountable boolean := false;
begin
  amounts := case ask.body ->> 'action' when 'accept_overage' then held.closure else ask.body end -> 'amounts';
  spent := array[]::bigint[];
  to_line := from_line - 1;
  while holdings[to_line + 1].place = place loop
    to_line := to_line + 1;
    amount := case
      when holdings[to_line].unit = 'open_holds' then 0
      else coalesce((amounts ->> holdings[to_line].unit)::bigint, case when holdings[to_line].unit = 'requests' then 1 end)
    end;
    missing_unit := least(missing_unit, case when amount is null then holdings[to_line].unit end);
    spent := spent || amount;
    most := greatest(most, amount);
    if holdings[to_line].state = 'held' and not coalesce(holdings[to_line].lapses_at <= at, false)
        and (amount > holdings[to_line].amount or ask.body ? 'priced')  -- else there is none
        and preauth._overage(ask, holdings[to_line].unit, holdings[to_line].amount, amount) > 0 then
      exceeds := exceeds or preauth._is_overage_refused(holdings[to_line], at);
    end if;
    if holdings[to_line].state <> 'settled' and holdings[to_line].window_settled + amount > preauth._most_counted() - so_far then
      uncountable := uncountable or so_far = 0
        or holdings[to_line].window_settled + amount > preauth._most_counted() - preauth._spent_on(holdings[to_line].window_id, closings);
    end if;
  end loop;
  if held.expires_at <= at then
    state := preauth._state_at(held, at);
  end if;
  verdict := case when uncountable then 'amount_out_of_range'
    else preauth._settle_verdict(ask, held, state, amounts, missing_unit, exceeds) end;
end
$$;
comment on function preauth._settle_finding(preauth._ask, preauth.reservation, integer, preauth._holding[], integer, preauth._closing[], bigint, timestamptz) is
  'What becomes of a settle call: its verdict (preauth._settle_verdict), the amounts to settle, the unit it does not tell, where its hold lines, which begin at from_line, end, and the most that it spends on any. closings: what earlier items of the round spend, no window more than so_far.';

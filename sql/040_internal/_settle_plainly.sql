-- One look at the lines is enough: a held one that is no lease changes only under the lock of its reservation. Where something is not plain nothing is written (but that
-- what has aged out of rolling windows is taken from them), and what was locked is what preauth._settle_round may lock, in its order.
create function preauth._settle_plainly(asks preauth._ask[], held preauth.reservation[], places tid[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  owners integer[];
  lines tid[];
  window_ids bigint[];
  amounts bigint[];
  is_plain boolean;
  tallies preauth._tally[];
  plain record;
begin
  select array_agg(h.owner), array_agg(h.line), array_agg(h.window_id), array_agg(h.amount), bool_and(h.is_plain)
  into owners, lines, window_ids, amounts, is_plain
  from (
    select k as owner, x.line, x.window_id, x.amount,
      x.is_held and not (asks[k].twin or asks[k].body ? 'usage') and asks[k].body ->> 'outcome' is distinct from 'unknown' as is_plain
    from generate_subscripts(asks, 1) as k
    cross join lateral (
      select l.ctid as line, l.position, l.window_id, l.amount, l.state = 'held' and l.lapses_at is null as is_held
      from preauth.hold_line as l
      where l.created_at = held[k].created_at and l.request_id = asks[k].request_id and l.account_id = asks[k].account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as x
    order by k, x.position
  ) as h;
  if is_plain is not true then
    return null;
  end if;
  tallies := preauth._lock_tallies(window_ids, at);
  -- In a statement of its own, as in preauth._close_lines: one that began before the wait would count what has been given back meanwhile.
  tallies := preauth._with_lapsed(tallies, greatest(at, preauth._now()));
  plain := preauth._plain_settlements(asks, owners, window_ids, amounts, tallies, at);
  if plain.answers is null
      or plain.exceeds and exists (select from unnest(preauth._holdings(held)) as h where preauth._is_overage_refused(h, at)) then
    return null;
  end if;
  perform preauth._write_plain_settlements(asks, places, plain.replies, lines, plain.spent, plain.tallies, at);
  if plain.is_notable then
    perform preauth._note_spend(plain.tallies, at);
  end if;
  return plain.answers;
end
$$;
comment on function preauth._settle_plainly(preauth._ask[], preauth.reservation[], tid[], timestamptz) is
  'Settles a batch of settle calls on locked open reservations (held, stored at places: each ask''s) as preauth._settle_round would, for what most are: amounts are told, every line is held and no lease, no overage is refused, no key comes twice. Null, and nothing is written, unless all are.';

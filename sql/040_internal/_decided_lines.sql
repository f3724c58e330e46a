-- One look-up by key after the other, not a join and no sort: those take longer to plan, for a connection that asks for the first time.
create function preauth._decided_lines(r preauth.reservation) returns jsonb[]
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  lines jsonb[];
  l record;
  w record;
  b record;
  seen integer := 0;
begin
  for l in
    select x.position, x.window_id, x.amount, x.available_after
    from preauth.hold_line as x where x.created_at = r.created_at and x.request_id = r.request_id and x.account_id = r.account_id
  loop
    select x.account_id, x.budget_id, x.window_key into w from preauth.budget_window as x where x.window_id = l.window_id;
    select x.name, x.unit into b from preauth.budget as x where x.budget_id = w.budget_id;
    lines[l.position] := jsonb_build_object(
      'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key, 'amount', l.amount, 'available', l.available_after);
    seen := seen + 1;
  end loop;
  if cardinality(lines) > seen then
    lines := array_remove(lines, null);
  end if;
  return lines;
end
$$;
comment on function preauth._decided_lines(preauth.reservation) is 'What a reservation held by its decision, line by line, shared scopes with their fill level; null if nothing.';

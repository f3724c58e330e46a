-- Mostly an account's own holds are all of what was reserved on its window. Only where they are not, and others are or were below it, everyone's are walked.
-- How the window stands now is looked up only where time can have changed what is written down: a first call pays for each query that it plans.
create function preauth._why_denied(r preauth.reservation, max_count integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  w preauth.budget_window := preauth._denied_window(r);
  now timestamptz := preauth._now();
  available bigint := (r.denial ->> 'available')::bigint;
  reserved bigint := (r.denial ->> 'limit')::bigint - (r.denial ->> 'settled')::bigint - available;
  holder text := case when w.account_id = r.account_id then w.account_id end;
  holds record := preauth._holds_at(w, r.created_at, available, reserved, max_count, holder);
begin
  if holder is not null and holds.amount < reserved then
    if cardinality(holds.items) < max_count or exists (select from preauth.account as a where a.parent_id = holder) then
      holds := preauth._holds_at(w, r.created_at, available, reserved, max_count, null);
    end if;
  end if;
  if w.slice_length is not null then
    w.settled := preauth._settled_at(w, now);
  end if;
  if w.reserved > 0 then
    w.reserved := w.reserved - preauth._lapsed(w.window_id, now);
  end if;
  if w.raised_until <= now or exists (select from preauth.account as a where a.account_id = w.account_id and a.plan_changes_at <= now) then
    w.limit_amount := preauth._limit_at(w, preauth._budget_at(w, now), now);
  end if;
  return jsonb_build_object(
    -- a denial is about the request itself, whatever alternatives it had
    'request_id', r.request_id, 'account_id', r.account_id, 'at', preauth._time(r.created_at), 'amounts', coalesce(r.ceilings, r.body -> 'amounts'),
    'denial', r.denial || jsonb_build_object('reserved', reserved),
    'window', case when w.window_id is not null then jsonb_build_object(
      'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
      'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'available', w.limit_amount - w.settled - w.reserved) end,
    'items', to_jsonb(holds.items), 'items_amount', holds.amount, 'held_by_others', reserved - holds.amount);
end
$$;
comment on function preauth._why_denied(preauth.reservation, integer) is 'A denial with the figures and the open holds that proved it, and its window as it is now, whether or not it is written down yet that a lease has lapsed, a raise has ended or a plan has begun; without one where the reason is no window''s.';

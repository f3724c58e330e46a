-- Called for one hold after another: its plan is made once, whatever the caller's settings say.
create function preauth._closed_before(request_id text, account_id text, charged_at timestamptz, lapsed_at timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  ended_at timestamptz;
  was_kept boolean;
begin
  select min(e.occurred_at) filter (where e.event in ('released', 'lapsed')),
    bool_or(e.event in ('unknown', 'settlement_exceeds_hold') and e.occurred_at < lapsed_at)
  into ended_at, was_kept
  from preauth.reservation_event as e
  where e.request_id = _closed_before.request_id and e.account_id = _closed_before.account_id;
  return least(charged_at, ended_at, case when was_kept is not true then lapsed_at end);
end
$$;
comment on function preauth._closed_before(text, text, timestamptz, timestamptz) is
  'When a hold that was charged or released late had stopped counting: when it was released or swept, or at lapsed_at if it was a lease that nobody kept (outcome unknown, or in review), else when it was charged.';

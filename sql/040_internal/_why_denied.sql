-- Mostly an account's own holds are all of what was reserved on its window. Only where they are not, and it has others below it, everyone's are walked.
create function preauth._why_denied(r preauth.reservation, max_count integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  w preauth.budget_window := preauth._denied_window(r);
  available bigint := r.denial ->> 'available';
  reserved bigint := (r.denial ->> 'limit')::bigint - (r.denial ->> 'settled')::bigint - available;
  holder text := case when w.account_id = r.account_id then w.account_id end;
  holds record := preauth._holds_at(w, r.created_at, available, reserved, max_count, holder);
begin
  if holder is not null and holds.amount < reserved then
    if exists (select from preauth.account as a where a.parent_id = holder) then
      holds := preauth._holds_at(w, r.created_at, available, reserved, max_count, null);
    end if;
  end if;
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'at', preauth._time(r.created_at), 'amounts', preauth._chosen_amounts(r),
    'denial', r.denial || jsonb_build_object('reserved', reserved),
    'window', preauth._window_now(w),
    'items', to_jsonb(holds.items), 'items_amount', holds.amount, 'held_by_others', reserved - holds.amount);
end
$$;
comment on function preauth._why_denied(preauth.reservation, integer) is 'A denial with the figures and the open holds that proved it.';

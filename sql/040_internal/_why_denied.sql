create function preauth._why_denied(r preauth.reservation, max_count integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window := preauth._denied_window(r);
  reserved bigint := (r.denial ->> 'limit')::bigint - (r.denial ->> 'settled')::bigint - (r.denial ->> 'available')::bigint;
  holds jsonb;
  shown bigint;
begin
  select jsonb_agg(jsonb_build_object(
      'request_id', h.request_id, 'account_id', h.account_id, 'amount', h.amount, 'held_at', preauth._time(h.held_at),
      'closed_at', preauth._time(h.closed_at), 'state', h.state) order by h.held_at desc, h.request_id desc, h.account_id desc),
    sum(h.amount)
  into holds, shown
  from preauth._holds_at(w, r.created_at, (r.denial ->> 'available')::bigint, reserved, max_count) as h;
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'at', preauth._time(r.created_at), 'amounts', preauth._chosen_amounts(r),
    'denial', r.denial || jsonb_build_object('reserved', reserved),
    'window', preauth._window_now(w),
    'items', coalesce(holds, '[]'), 'items_amount', coalesce(shown, 0), 'held_by_others', reserved - coalesce(shown, 0));
end
$$;
comment on function preauth._why_denied(preauth.reservation, integer) is 'A denial with the figures and the open holds that proved it.';

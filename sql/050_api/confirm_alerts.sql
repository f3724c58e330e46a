create function preauth_api.confirm_alerts(message_ids bigint[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  confirmed integer;
begin
  with had as (
    select o.message_id, o.account_id from preauth.outbox as o
    where o.message_id = any (confirm_alerts.message_ids) and o.delivered_at is null
    order by o.message_id
    for update
  )
  update preauth.outbox as o set delivered_at = preauth._now()
  from had as h
  where o.message_id = h.message_id and o.account_id = h.account_id;
  get diagnostics confirmed = row_count;
  return confirmed;
end
$$;
comment on function preauth_api.confirm_alerts(bigint[]) is 'Notes that the receiver has these messages: they are not taken again. Returns how many were not confirmed before.';

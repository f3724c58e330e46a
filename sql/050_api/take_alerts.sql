create function preauth_api.take_alerts(max_count integer default 20, retry_seconds integer default 15)
returns table (message_id bigint, topic text, body jsonb, created_at timestamptz, attempts integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
#variable_conflict use_column
declare
  at timestamptz := preauth._now();
begin
  if max_count < 0 or retry_seconds not between 1 and 3600 then
    perform preauth._raise('PA001', 'max_count must not be negative, retry_seconds must be from 1 to 3600');
  end if;
  return query
    with due as (
      select o.message_id, o.account_id from preauth.outbox as o
      where o.delivered_at is null and o.next_attempt_at <= at
      order by o.next_attempt_at, o.message_id
      limit max_count
      for update skip locked
    )
    update preauth.outbox as o
    set attempts = o.attempts + 1, next_attempt_at = at + preauth._retry_delay(retry_seconds, o.attempts)
    from due as d
    where o.message_id = d.message_id and o.account_id = d.account_id
    returning o.message_id, o.topic, o.body, o.created_at, o.attempts;
end
$$;
comment on function preauth_api.take_alerts(integer, integer) is
  'Takes at most max_count messages whose delivery is due, the longest due first. Nobody else gets them for retry_seconds, which must be longer than a delivery takes; each further attempt doubles that, up to an hour. What is not confirmed by then is due again. Any number of workers may call it: it skips what others have locked. Raises PA001 where max_count is negative or retry_seconds is not from 1 to 3600.';

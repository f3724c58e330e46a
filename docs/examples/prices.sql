select preauth_api.publish_price_table('{"model": "acme/chat-1", "source": "price page of 14 September", "rates": {"input_tokens": {"micro_usd": 3000000, "per": 1000000}, "output_tokens": {"micro_usd": 15000000, "per": 1000000}}}') ->> 'name' as price;
select preauth_api.put_account('ann', '{}') ->> 'status' as status;
select preauth_api.put_budget('ann', 'usd', '{"unit": "usd_nano", "window": {"kind": "lifetime"}, "limit_amount": 1000000000}') ->> 'name' as budget;
select preauth_api.charge('c-1', 'ann', model => 'acme/chat-1', usage => '{"input_tokens": 1000, "output_tokens": 200}') ->> 'state' as state;
-- (1 hour later) The price goes down. What was spent before keeps its own.
select preauth_api.publish_price_table('{"model": "acme/chat-1", "source": "price page of today", "rates": {"input_tokens": {"micro_usd": 2000000, "per": 1000000}, "output_tokens": {"micro_usd": 10000000, "per": 1000000}}}') ->> 'name' as price;
select preauth_api.charge('c-2', 'ann', model => 'acme/chat-1', usage => '{"input_tokens": 1000, "output_tokens": 200}') ->> 'state' as state;

-- Which prices were used, and for how much.
select p.*
from jsonb_to_recordset(preauth_api.audit_prices('2026-09-01T00:00:00Z', '2026-10-01T00:00:00Z') -> 'items')
  as p (name text, effective_from text, source text, reservations bigint, settled bigint, unit text);

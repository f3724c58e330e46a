select preauth_api.put_account('ann', '{}') ->> 'status' as status;
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000}') ->> 'name' as budget;
select preauth_api.reserve('forgotten', 'ann', '{"tokens": 300}', ttl_seconds => 60) ->> 'state' as state;
-- (2 hours later) Nobody settled it. The provider may have billed it, so the hold stays.
select preauth_api.reserve('timed-out', 'ann', '{"tokens": 100}') ->> 'state' as state;
select preauth_api.settle('timed-out', outcome => 'unknown') ->> 'state' as state;

-- (1 hour later) Those that are older than half an hour, the oldest first.
select s.*
from jsonb_to_recordset(preauth_api.audit_stuck(older_than_seconds => 1800) -> 'items') as s (request_id text, account_id text, state text, age_seconds bigint, held jsonb);

-- The provider's log says what they cost.
select preauth_api.resolve('forgotten', 'settle', 'from the provider''s log', amounts => '{"tokens": 120}') ->> 'state' as state;
select preauth_api.resolve('timed-out', 'release', 'the provider has no such call') ->> 'state' as state;
select jsonb_array_length(preauth_api.audit_stuck() -> 'items') as stuck;

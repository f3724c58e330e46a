select preauth_api.put_account('ann', '{}') ->> 'status' as status;
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000, "on_expiry": "release"}') ->> 'name' as budget;
select preauth_api.reserve('longer', 'ann', '{"tokens": 100}') ->> 'state' as state;
select preauth_api.settle('longer', '{"tokens": 130}') -> 'overage' as overage;
select preauth_api.reserve('slow', 'ann', '{"tokens": 100}', ttl_seconds => 60) ->> 'state' as state;
-- (2 minutes later) The lease has lapsed; what was spent is charged all the same, once.
select preauth_api.settle('slow', '{"tokens": 90}') -> 'late' as late;
-- While the ledger was out of reach something was spent. It is recorded, whatever the budget says.
select preauth_api.charge('offline', 'ann', '{"tokens": 5000}', record => true) -> 'recorded' as recorded;

select e.*
from jsonb_to_recordset(preauth_api.audit_exceptions() -> 'items') as e (at text, request_id text, late boolean, recorded boolean, amounts jsonb, overage jsonb);
select jsonb_array_length(preauth_api.audit_exceptions(kind => 'overage') -> 'items') as overages;

select preauth_api.put_account('ann', '{}') ->> 'status' as status;
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000, "overage": "reject"}') ->> 'name' as budget;
select preauth_api.reserve('r-1', 'ann', '{"tokens": 300}', ttl_seconds => 60) ->> 'decision' as decision;
-- (30 seconds later)
select preauth_api.extend('r-1', 120) ->> 'expires_at' as expires_at;
-- (10 seconds later) The usage is above the hold, and the budget rejects that.
select preauth_api.settle('r-1', '{"tokens": 320}') ->> 'detail' as refusal;
-- (5 minutes later) A person decides.
select preauth_api.resolve('r-1', 'accept_overage', 'the provider did bill it') ->> 'state' as state;

select t.*
from jsonb_to_recordset(preauth_api.audit_timeline('r-1') -> 'items') as t (at text, event text, actor text, amounts jsonb, overage jsonb);

select preauth_api.put_account('org', '{}') ->> 'status' as status;
select preauth_api.put_budget('org', 'shared', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 5000}') ->> 'name' as budget;
select preauth_api.put_account('user_42', '{"parent_id": "org"}') ->> 'status' as status;
select preauth_api.put_budget('user_42', 'own', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000}') ->> 'name' as budget;
select preauth_api.reserve('r-1', 'user_42', '{"tokens": 300}') ->> 'decision' as decision;

-- What PostgREST does for a request with a user's JWT.
set role authenticated;
select set_config('request.jwt.claims', '{"sub": "user_42", "role": "authenticated"}', false) as claims;

-- Their own window with its figures, the organisation's without.
select w.*
from jsonb_to_recordset(preauth_api.my_balance() -> 'windows') as w (scope text, budget text, "limit" bigint, reserved bigint, available bigint);
select r.*
from jsonb_to_recordset(preauth_api.my_reservations() -> 'items') as r (request_id text, decision text, state text, amounts jsonb);

-- Nothing else: an error each.
select preauth_api.balance('org');
select preauth_api.reserve('r-2', 'user_42', '{"tokens": 1}');
select * from preauth_api.decisions;
select * from preauth.account;

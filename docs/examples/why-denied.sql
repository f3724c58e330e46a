-- Two people share the team's 1000 tokens.
select preauth_api.put_account('team', '{}') ->> 'status' as status;
select preauth_api.put_budget('team', 'shared', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000}') ->> 'name' as budget;
select preauth_api.put_account('ann', '{"parent_id": "team"}') ->> 'status' as status;
select preauth_api.put_account('bob', '{"parent_id": "team"}') ->> 'status' as status;
select preauth_api.reserve('bobs-report', 'bob', '{"tokens": 700}', ttl_seconds => 600) ->> 'decision' as decision;

-- (5 seconds later) Ann is denied. She may know by which budget, but not how full it is.
select preauth_api.reserve('anns-chat', 'ann', '{"tokens": 400}') - array['type', 'title'] as denial;

-- (1 minute later) By now all looks well,
select preauth_api.settle('bobs-report', '{"tokens": 50}') ->> 'state' as state;
select settled, reserved, available from preauth_api.windows where account_id = 'team';

-- and the audit still knows what took the room at that instant.
select why #>> '{denial,limit}' as limit, why #>> '{denial,settled}' as settled, why #>> '{denial,reserved}' as reserved,
  why #>> '{denial,available}' as available, why #>> '{denial,required}' as required
from preauth_api.audit_why_denied('anns-chat') as why;
select holds.*
from jsonb_to_recordset(preauth_api.audit_why_denied('anns-chat') -> 'items') as holds (request_id text, account_id text, amount bigint, held_at text, closed_at text, state text);

select preauth_api.put_account('ann', '{}') ->> 'status' as status;
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000}', actor => 'key_of_eve') ->> 'name' as budget;
select preauth_api.reserve('r-1', 'ann', '{"tokens": 600}') ->> 'decision' as decision;
-- (1 day later)
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 500, "reason": "trial is over"}', actor => 'key_of_bob') ->> 'limit_amount' as limit_amount;

-- What was changed, and by whom.
select c.at, c.actor, c.reason, c.before ->> 'limit_amount' as before, c.after ->> 'limit_amount' as after
from jsonb_to_recordset(preauth_api.audit_changes(subject => 'budget', subject_id => 'account:ann/cap') -> 'items')
  as c (at text, actor text, reason text, before jsonb, after jsonb);

-- What that did to the current window. Nothing is lost: less than nothing is available.
select a.*
from jsonb_to_recordset(preauth_api.audit_adjustments(account_id => 'ann') -> 'items')
  as a (kind text, budget text, "window" text, limit_before bigint, limit_after bigint, reason text);
select limit_amount, settled, reserved, available from preauth_api.windows where account_id = 'ann';

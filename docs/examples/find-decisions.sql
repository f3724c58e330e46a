select preauth_api.put_account('ann', '{}') ->> 'status' as status;
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "calendar", "period": "day"}, "limit_amount": 1000}') ->> 'name' as budget;
select preauth_api.reserve('r-1', 'ann', '{"tokens": 600}', model => 'small', labels => '{"feature": "search"}') ->> 'decision' as decision;
-- (1 hour later)
select preauth_api.reserve('r-2', 'ann', '{"tokens": 600}', model => 'large') ->> 'decision' as decision;
-- (1 hour later)
select preauth_api.reserve('r-3', 'ann', '{"tokens": 5000}', model => 'large') ->> 'decision' as decision;

-- The account's last decisions.
select d.*
from jsonb_to_recordset(preauth_api.audit_decisions(account_id => 'ann', max_count => 50) -> 'items')
  as d (created_at text, request_id text, decision text, reason text, model text, amounts jsonb);

-- Denials of one model in one hour, for one reason.
select d.*
from jsonb_to_recordset(preauth_api.audit_decisions(
    since => '2026-09-14T13:00:00Z', until => '2026-09-14T14:00:00Z', decision => 'denied', reason => 'budget_exhausted', model => 'large') -> 'items')
  as d (created_at text, request_id text, budget text, scope text);

-- Page by page.
select page ->> 'next_cursor' as next_cursor, jsonb_array_length(page -> 'items') as items from preauth_api.audit_decisions(max_count => 2) as page;
select page ->> 'next_cursor' as next_cursor, jsonb_array_length(page -> 'items') as items
from preauth_api.audit_decisions(max_count => 2, cursor => preauth_api.audit_decisions(max_count => 2) ->> 'next_cursor') as page;

-- The same as a view, for any question of your own.
select request_id, reason, required, available from preauth_api.decisions where decision = 'denied' order by created_at;

select preauth_api.put_account('ann', '{}') ->> 'status' as status;
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 100000}') ->> 'name' as budget;
select preauth_api.charge('c-1', 'ann', '{"tokens": 700}', model => 'small', labels => '{"feature": "search"}') ->> 'state' as state;
select preauth_api.charge('c-2', 'ann', '{"tokens": 50}', model => 'large', labels => '{"feature": "chat"}') ->> 'state' as state;
-- (13 hours later)
select preauth_api.charge('c-3', 'ann', '{"tokens": 9}', model => 'small', labels => '{"feature": "chat"}') ->> 'state' as state;

-- By day and model; a day begins at midnight UTC unless you say whose day it is.
select s.*
from jsonb_to_recordset(preauth_api.audit_spend('2026-09-01T00:00:00Z', '2026-10-01T00:00:00Z', by => '{day,model}') -> 'items')
  as s (day date, model text, unit text, amount bigint, events bigint);
select s.*
from jsonb_to_recordset(preauth_api.audit_spend('2026-09-01T00:00:00Z', '2026-10-01T00:00:00Z', by => '{day}', time_zone => 'America/New_York') -> 'items')
  as s (day date, unit text, amount bigint, events bigint);

-- By a label.
select s.*
from jsonb_to_recordset(preauth_api.audit_spend('2026-09-01T00:00:00Z', '2026-10-01T00:00:00Z', by => '{label}', label => 'feature') -> 'items')
  as s (label text, unit text, amount bigint, events bigint);

-- The single amounts. A correction of a window by hand is a row with its window_id.
select request_id, kind, unit, amount, model from preauth_api.spend where window_id is null order by occurred_at, request_id;

-- A plan of $0.50 a month and an account on it.
select preauth_api.put_plan('free', '{"budgets": [{"name": "monthly-usd", "unit": "usd_nano", "window": {"kind": "calendar", "period": "month"}, "limit_amount": 500000000}]}') ->> 'plan_id' as plan;
select preauth_api.put_account('user_42', '{"plan_id": "free"}') ->> 'status' as status;

-- $0.35 were spent already. Hold $0.10 for the next call.
select preauth_api.charge('earlier', 'user_42', '{"usd_nano": 350000000}') ->> 'state' as state;
select jsonb_pretty(preauth_api.reserve('call-1', 'user_42', '{"usd_nano": 100000000}')) as authorization;

-- Another $0.10 do not fit.
select jsonb_pretty(preauth_api.reserve('call-2', 'user_42', '{"usd_nano": 100000000}')) as denial;

-- The first call cost $0.06. The rest is available at once.
select jsonb_pretty(preauth_api.settle('call-1', '{"usd_nano": 60000000}')) as settlement;
select budget, window_key, limit_amount, settled, reserved, available from preauth_api.windows where account_id = 'user_42';

-- The books balance.
select count(*) as mismatches from preauth_api.verify();

-- POSTs, each with ids of its own. Arguments: path, account or prefix of accounts, how many accounts
-- (0: one hot account), run id, key, calls in one request (1, or more: an array).
local counter, thread_id, threads = 0, 0, 0
local call = '{"request_id":"%s-%d-%d","account_id":"%s","amounts":{"usd_nano":1000},"ttl_seconds":3600}'

function setup(thread)
  threads = threads + 1
  thread:set("thread_id", threads)
end

function init(args)
  path, account, accounts, run, batch = args[1], args[2], tonumber(args[3]), args[4], tonumber(args[6])
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer " .. args[5]
  math.randomseed(os.time() + thread_id)
end

local function body()
  counter = counter + 1
  local who = account
  if accounts > 0 then
    who = account .. math.random(1, accounts)
  end
  return string.format(call, run, thread_id, counter, who)
end

function request()
  if batch == 1 then
    return wrk.format("POST", path, nil, body())
  end
  local bodies = {}
  for i = 1, batch do
    bodies[i] = body()
  end
  return wrk.format("POST", path, nil, "[" .. table.concat(bodies, ",") .. "]")
end

function done(summary, latency, requests)
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end

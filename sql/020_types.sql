-- Values handed from stage to stage within one batch. No table has a column of these types.

create type preauth._ask as (
  n integer,
  call text,
  request_id text,
  account_id text,
  body jsonb,
  actor text,
  within text,
  dry_run boolean,
  twin boolean,
  errors jsonb
);
comment on type preauth._ask is
  'One item of a batch: its place n (from 1), the normalised body, who asks, the subtree the caller is bound to (null: any), whether an earlier item has the same key, and what is malformed in it (null: nothing).';

create type preauth._route as (
  account_id text,
  path text[],
  suspended text,
  window_ids bigint[],
  units text[],
  hard boolean[],
  models text[],
  budgets text[],
  expiries text[]
);
comment on type preauth._route is
  'The budget windows that a spend of one account on one model must fit, in the order of checking; models: the model each counts, null for all; budgets, expiries: the name and on_expiry of each budget. suspended: the suspended account on the path, if any.';

create type preauth._slot as (
  window_id bigint,
  scope text,
  budget text,
  unit text,
  window_key text,
  limit_amount bigint,
  capacity bigint,
  next_capacity bigint,
  settled bigint,
  starts_at timestamptz,
  ends_at timestamptz,
  on_expiry text,
  trails interval
);
comment on type preauth._slot is
  'A locked budget window as the decision sees it. capacity: the most that settled + reserved may reach (limit plus overdraft; preauth._most_counted() where nothing else bounds it); next_capacity: the same of the next window, null until a denial asks (preauth._with_next_capacities). trails: the whole period of a rolling window; null for others.';

create type preauth._line as (
  n integer,
  position smallint,
  slot integer,
  amount bigint,
  available_after bigint
);
comment on type preauth._line is 'A hold decided for item n on a slot. available_after: null where the window is unlimited.';

create type preauth._lapse as (
  slot integer,
  lapses_at timestamptz,
  freed bigint,
  is_last boolean
);
comment on type preauth._lapse is
  'A step of what a slot gets back as its leases lapse and its slices age out: freed by then in all. is_last: more leases may follow that were not looked at.';

create type preauth._step as (
  steps_at timestamptz,
  taken bigint
);
comment on type preauth._step is 'What is taken of a window from an instant on, in its unit.';

create type preauth._ruling as (
  n integer,
  verdict text,
  option_no smallint,
  slot integer,
  required bigint,
  available bigint,
  detail text,
  denial jsonb,
  on_expiry text
);
comment on type preauth._ruling is
  'What was decided for item n. verdict: authorized, a denial reason, a refusal code, or recorded (decided before). option_no: 0 is the request itself, k its k-th alternative. slot, required, available: of the line that could not be covered. on_expiry: the strictest policy of what is held, null when nothing is.';

create type preauth._closing as (
  created_at timestamptz,
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  next_state text,
  settled_amount bigint
);
comment on type preauth._closing is 'A wish to move a hold line, on its window, to next_state (settled, released, lapsed), settled_amount spent (null unless settled).';

create type preauth._closed as (
  created_at timestamptz,
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  scope text,
  budget text,
  unit text,
  window_key text,
  state text,
  late boolean,
  amount bigint,
  settled_amount bigint,
  settled_after bigint,
  reserved_after bigint,
  limit_after bigint
);
comment on type preauth._closed is 'A hold line as it was closed, with its window and the window''s figures just after. late: its hold had been given back, or had lapsed.';

create type preauth._holding as (
  place integer,
  position smallint,
  window_id bigint,
  unit text,
  overage text,
  amount bigint,
  state text,
  lapses_at timestamptz,
  window_settled bigint
);
comment on type preauth._holding is 'A hold line of the reservation at a place in a batch, and what a settlement must know of its budget and window.';

create type preauth._answer as (
  n integer,
  status integer,
  headers json,
  body json,
  root text
);
comment on type preauth._answer is 'The outcome of item n: HTTP status, headers (name to value), body; the root of the account''s tree where it was looked up.';

create type preauth._tariff as (
  name text,
  price_table_id bigint,
  unit text,
  scale numeric,
  dimensions text[],
  thresholds bigint[],
  rates numeric[],
  bounds numeric[],
  required text[],
  plain jsonb
);
comment on type preauth._tariff is 'The price table by which a model of this name is priced in a unit: its own, or the one it is an alias of.';

create type preauth._quote as (
  amounts jsonb,
  price_table_ids bigint[],
  problems jsonb
);
comment on type preauth._quote is
  'What an option of a request asks for by its max_usage or usage. amounts: {unit: amount} as far as it can be told; problems: {unit: {code, detail}} where it cannot.';

create type preauth._tally as (
  window_id bigint,
  scope text,
  budget text,
  unit text,
  window_key text,
  limit_amount bigint,
  settled bigint,
  reserved bigint,
  freed bigint,
  spent bigint,
  notable_from bigint,
  lapsed bigint
);
comment on type preauth._tally is 'A locked window while lines of it are closed: its figures before, and what was freed of reserved and spent into settled since. notable_from: what settled must reach for the spend to be noted (preauth._note_spend); null: no spend is. lapsed: what reserved still counts of leases that have lapsed; null: not looked up yet (preauth._with_lapsed), for there may be some.';

create type preauth._rerating as (
  request_id text,
  account_id text,
  before bigint,
  after bigint,
  code text,
  dimension text
);
comment on type preauth._rerating is
  'A spend that a wrong price table priced last, in the unit of the table: what it cost by that, what it costs by the right one, or the code of why that cannot be told and the dimension that is the reason.';

create type preauth._wish as (
  n integer,
  request_id text,
  account_id text,
  body jsonb,
  actor text,
  within text,
  ttl_seconds integer,
  on_expiry text,
  amounts bigint[],
  route preauth._route,
  ceilings jsonb,
  price_table_ids bigint[]
);
comment on type preauth._wish is
  'What item n of a batch holds if there is room: amounts on the windows of its route, in their order. on_expiry: the strictest policy of its budgets; ceilings, price_table_ids: of its quote, null where it tells its amounts; the other fields as in preauth._ask.';

create type preauth._filled as (
  window_id bigint,
  scope text,
  window_key text,
  limit_amount bigint,
  available bigint,
  policy text,
  pace text
);
comment on type preauth._filled is
  'A window that holds all that a batch wishes of it. available: before it did; null: unlimited. policy, pace: what its RateLimit-Policy and RateLimit say after the budget''s name and the remaining amount.';

create type preauth._held_line as (
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  amount bigint,
  available_after bigint
);
comment on type preauth._held_line is 'A hold line to be written. available_after: null where the window is unlimited.';

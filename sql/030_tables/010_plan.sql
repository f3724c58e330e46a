create table preauth.plan (
  plan_id text not null,
  created_at timestamptz not null,
  unpriced text not null,
  constraint plan_pkey primary key (plan_id),
  constraint plan_id_is_an_id check (plan_id ~ '^[A-Za-z0-9_.:@/-]{1,128}$'),
  constraint plan_unpriced_known check (unpriced in ('refuse', 'count_only'))
);
alter table preauth.plan enable row level security;
comment on table preauth.plan is 'A named set of budgets that accounts share.';
comment on column preauth.plan.plan_id is 'The plan''s name, chosen by the deployment.';
comment on column preauth.plan.created_at is 'When the plan was first put.';
comment on column preauth.plan.unpriced is 'What becomes of a request whose cost cannot be told: refuse, or count_only (tokens and requests count, budgets of money that are not hard are left out).';

create table preauth.price_table (
  price_table_id bigint generated always as identity,
  name text not null,
  model text not null,
  variant text,
  unit text not null,
  effective_from timestamptz not null,
  alias_of text,
  tiers jsonb,
  scale numeric,
  dimensions text[],
  thresholds bigint[],
  rates numeric[],
  bounds numeric[],
  required text[],
  source text,
  published_at timestamptz not null,
  published_by text not null,
  constraint price_table_pkey primary key (price_table_id),
  constraint price_table_takes_effect_once unique (name, unit, effective_from),
  constraint price_table_name_is_an_id check (name ~ '^[A-Za-z0-9_.:@/-]{1,128}$'),
  constraint price_table_name_is_model_and_variant check (name = model || coalesce(':' || variant, '')),
  constraint price_table_variant_known check (variant in ('batch', 'flex', 'priority')),
  constraint price_table_unit_form check (unit ~ '^[a-z][a-z0-9_]{0,31}$' and unit not in ('tokens', 'requests', 'open_holds')),
  constraint price_table_alias_or_rates check (num_nonnulls(alias_of, tiers) = 1),
  constraint price_table_rates_are_worked_out check (num_nonnulls(tiers, scale, dimensions, thresholds, rates, bounds, required) in (0, 7)),
  constraint price_table_scale_range check (scale > 0),
  constraint price_table_alias_is_another check (alias_of <> name)
);
create index price_table_other_unit on preauth.price_table (name, unit, effective_from desc) where unit <> 'usd_nano';
create index price_table_alias on preauth.price_table (alias_of, unit) where alias_of is not null;
alter table preauth.price_table enable row level security;
comment on table preauth.price_table is 'Rates of one model from an instant on. Rows are only ever added: a later one supersedes, and what was settled keeps its own.';
comment on column preauth.price_table.price_table_id is 'What a reservation and a usage event refer to.';
comment on column preauth.price_table.name is 'What a request says as its model: model, or model:variant. Exact match only.';
comment on column preauth.price_table.model is 'The model, such as openai/gpt-5-mini.';
comment on column preauth.price_table.variant is 'batch, flex or priority; null: the standard price.';
comment on column preauth.price_table.unit is 'The unit of the cost: usd_nano, or another in which budgets count.';
comment on column preauth.price_table.effective_from is 'From when on it is the one, until a later row of its name and unit.';
comment on column preauth.price_table.alias_of is 'The name that this one stands for; null where the row has rates of its own.';
comment on column preauth.price_table.tiers is '[{above_input_tokens, rates: {dimension: {micro_usd (usd_nano) or amount (other units), per, required}}}], as published with defaults written out; null for an alias.';
comment on column preauth.price_table.scale is 'Common denominator of all rates: a cost is ceil(sum(count * rate) / scale) in the unit.';
comment on column preauth.price_table.dimensions is 'What is priced, the usual first; with prompt_tokens and completion_tokens where they can be bounds.';
comment on column preauth.price_table.thresholds is 'Above how many input tokens each tier begins.';
comment on column preauth.price_table.rates is 'rates[tier][dimension] over scale, whole numbers; null for prompt_tokens and completion_tokens, which are never spent.';
comment on column preauth.price_table.bounds is 'The same for a ceiling: the dearest of this and the lower tiers; prompt_tokens as the dearest input, completion_tokens as the dearer of output and reasoning.';
comment on column preauth.price_table.required is 'Dimensions that a ceiling must bound.';
comment on column preauth.price_table.source is 'Where the figures come from, as said.';
comment on column preauth.price_table.published_at is 'When it was published.';
comment on column preauth.price_table.published_by is 'Who: an API key''s id or a database role.';

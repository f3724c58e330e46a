-- most ceilings in one expression

alter type preauth._tariff add attribute plain jsonb;
alter table preauth.price_table add column plain jsonb;
update preauth.price_table as t
set plain = (select jsonb_object_agg(d.dimension, trim_scale(t.bounds[1][d.place])) from unnest(t.dimensions) with ordinality as d (dimension, place))
where t.unit = 'usd_nano' and cardinality(t.thresholds) = 1 and 'requests' <> all (t.dimensions);

drop function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text);

drop function preauth_api.publish_price_table(body jsonb, actor text);

drop function preauth._tariffs_from(rows preauth.price_table[], at timestamp with time zone);

CREATE OR REPLACE FUNCTION preauth._insert_price_table(body jsonb, name text, unit text, effective_from timestamp with time zone, tiers jsonb, actor text)
 RETURNS preauth.price_table
 LANGUAGE sql
AS $function$
  with scale as materialized (
    select preauth._scale_of(tiers) as scale
  ), numerators as materialized (
    select n.* from scale as s cross join lateral preauth._numerators_of(tiers, unit, s.scale) as n
  ), rows as (
    select n.tier,
      array_agg(n.dimension order by preauth._dimension_rank(n.dimension), n.dimension) as dimensions,
      array_agg(n.rate order by preauth._dimension_rank(n.dimension), n.dimension) as rates,
      array_agg(n.bound order by preauth._dimension_rank(n.dimension), n.dimension) as bounds
    from numerators as n group by n.tier
  )
  insert into preauth.price_table
    (name, model, variant, unit, effective_from, tiers, scale, dimensions, thresholds, rates, bounds, required, plain, source, published_at, published_by)
  select name, body ->> 'model', body ->> 'variant', unit, effective_from, tiers, (select s.scale from scale as s),
    (select r.dimensions from rows as r where r.tier = 1),
    array(select (t.tier ->> 'above_input_tokens')::bigint from jsonb_array_elements(tiers) with ordinality as t (tier, place) order by t.place),
    (select array_agg(r.rates order by r.tier) from rows as r), (select array_agg(r.bounds order by r.tier) from rows as r),
    preauth._required_of(tiers),
    case when unit = 'usd_nano' and jsonb_array_length(tiers) = 1 and not tiers -> 0 -> 'rates' ? 'requests'
      then (select jsonb_object_agg(n.dimension, trim_scale(n.bound)) from numerators as n) end,
    body ->> 'source', preauth._now(), coalesce(actor, session_user)
  returning price_table.*
$function$;

CREATE OR REPLACE FUNCTION preauth._is_plain_request(body jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$ select not body ?| array['amounts', 'usage', 'alternatives'] $function$;

CREATE OR REPLACE FUNCTION preauth._only_tariff(tariffs preauth._tariff[], model text)
 RETURNS preauth._tariff
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  found_one preauth._tariff;
begin
  for t in 1 .. cardinality(tariffs) loop
    if tariffs[t].name = model then
      if found_one.name is not null then
        return null;
      end if;
      found_one := tariffs[t];
    end if;
  end loop;
  return found_one;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._option_quote(body jsonb, option_no integer, tariffs preauth._tariff[])
 RETURNS preauth._quote
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  counts jsonb := preauth._option_counts(body, option_no);
  model text := preauth._option_model(body, option_no);
begin
  return case
    when counts is null then row(preauth._option_amounts(body, option_no), null, '{}')::preauth._quote
    else preauth._quote(case when model is not null then tariffs else array[]::preauth._tariff[] end, model, counts, not body ? 'usage', preauth._option_amounts(body, option_no))
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_amount(tariff preauth._tariff, counts jsonb)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when tariff.plain is null or not (counts ?& tariff.required
      or counts ?| array['output_tokens', 'completion_tokens'] and counts ?| array['input_tokens', 'prompt_tokens']
        and tariff.required <@ array['input_tokens', 'output_tokens']) then null
    else div(preauth._plain_total(counts, tariff.plain) + tariff.scale - 1, tariff.scale)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_tokens(counts jsonb)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce((counts -> 'input_tokens')::numeric, 0) + coalesce((counts -> 'output_tokens')::numeric, 0)
    + coalesce((counts -> 'prompt_tokens')::numeric, 0) + coalesce((counts -> 'completion_tokens')::numeric, 0)
    + coalesce((counts -> 'cached_input_tokens')::numeric, 0) + coalesce((counts -> 'reasoning_tokens')::numeric, 0)
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_total(counts jsonb, rates jsonb)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when counts - array['input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'reasoning_tokens'] = '{}' then
    case when counts ? 'input_tokens' then (counts -> 'input_tokens')::numeric * (rates -> 'input_tokens')::numeric else 0 end
    + case when counts ? 'output_tokens' then (counts -> 'output_tokens')::numeric * (rates -> 'output_tokens')::numeric else 0 end
    + case when counts ? 'prompt_tokens' then (counts -> 'prompt_tokens')::numeric * (rates -> 'prompt_tokens')::numeric else 0 end
    + case when counts ? 'completion_tokens' then (counts -> 'completion_tokens')::numeric * (rates -> 'completion_tokens')::numeric else 0 end
    + case when counts ? 'cached_input_tokens' then (counts -> 'cached_input_tokens')::numeric * (rates -> 'cached_input_tokens')::numeric else 0 end
    + case when counts ? 'reasoning_tokens' then (counts -> 'reasoning_tokens')::numeric * (rates -> 'reasoning_tokens')::numeric else 0 end
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._priced_items(asks preauth._ask[], OUT items integer[], OUT models text[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  items := array[]::integer[];
  models := array[]::text[];
  for n in 1 .. cardinality(asks) loop
    if preauth._is_priced(asks[n].body) then
      items := items || n;
      for k in 0 .. preauth._last_option(asks[n].body) loop
        if preauth._option_model(asks[n].body, k) <> all (models) then
          models := models || preauth._option_model(asks[n].body, k);
        end if;
      end loop;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._quotes(asks preauth._ask[], OUT quotes preauth._quote[], OUT quote_of integer[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  n integer;
  wanted record;
  tariffs preauth._tariff[];
  tariff preauth._tariff;
  counts jsonb;
  amount numeric;
begin
  quotes := array[]::preauth._quote[];
  quote_of := array[]::integer[];
  wanted := preauth._priced_items(asks);
  if cardinality(wanted.items) = 0 then
    return;
  end if;
  tariffs := preauth._tariffs(wanted.models, preauth._now());
  quote_of := array_fill(null::integer, array[cardinality(asks)]);
  foreach n in array wanted.items loop
    quote_of[n] := cardinality(quotes) + 1;
    if asks[n].body ->> 'model' is distinct from tariff.name then
      tariff := preauth._only_tariff(tariffs, asks[n].body ->> 'model');
    end if;
    counts := case when preauth._is_plain_request(asks[n].body) then asks[n].body -> 'max_usage' end;
    amount := preauth._plain_amount(tariff, counts);
    if amount <= 9007199254740991 then
      quotes := quotes || row(jsonb_build_object('tokens', preauth._plain_tokens(counts), 'usd_nano', amount), array[tariff.price_table_id], '{}')::preauth._quote;
    else
      for k in 0 .. preauth._last_option(asks[n].body) loop
        quotes := quotes || preauth._option_quote(asks[n].body, k, tariffs);
      end loop;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tariffs(names text[], at timestamp with time zone)
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  tariffs preauth._tariff[];
  has_alias boolean;
begin
  select array_agg(p.tariff), bool_or(p.is_alias) into tariffs, has_alias
  from (
    select one.tariff, one.is_alias from unnest(names) as n (name)
    cross join lateral (
      select row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff as tariff,
        x.alias_of is not null as is_alias
      from preauth.price_table as x
      where x.name = n.name and x.unit = 'usd_nano' and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as one
    union all
    (select distinct on (x.name, x.unit)
      row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff, x.alias_of is not null
    from preauth.price_table as x
    where x.name = any (names) and x.unit <> 'usd_nano' and x.effective_from <= at and x.published_at <= at
    order by x.name, x.unit, x.effective_from desc)
  ) as p;
  return case when has_alias then preauth._without_aliases(tariffs, at) else coalesce(tariffs, array[]::preauth._tariff[]) end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tariffs_of(price_table_ids bigint[])
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(p.name, p.price_table_id, p.unit, p.scale, p.dimensions, p.thresholds, p.rates, p.bounds, p.required, p.plain)::preauth._tariff
    from preauth.price_table as p
    where p.price_table_id = any (price_table_ids) and p.tiers is not null
    order by p.unit <> 'usd_nano', p.unit);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._without_aliases(tariffs preauth._tariff[], at timestamp with time zone)
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(f.name, t.price_table_id, t.unit, t.scale, t.dimensions, t.thresholds, t.rates, t.bounds, t.required, t.plain)::preauth._tariff
    from unnest(tariffs) as f
    join preauth.price_table as p on p.price_table_id = f.price_table_id
    cross join lateral (
      select x.* from preauth.price_table as x
      where x.name = coalesce(p.alias_of, p.name) and x.unit = p.unit and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as t
    where t.tiers is not null
    order by t.unit <> 'usd_nano');
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.price_tables(model text DEFAULT NULL::text, at timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._answered((
    select coalesce(jsonb_agg(preauth._price_table_json(t) order by t.name, t.unit, t.effective_from desc), '[]')
    from preauth.price_table as t
    where (price_tables.model is null or t.name = price_tables.model)
      and (price_tables.at is null or t.effective_from <= price_tables.at and not exists (
        select from preauth.price_table as later
        where later.name = t.name and later.unit = t.unit and later.effective_from > t.effective_from and later.effective_from <= price_tables.at))));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.publish_price_table(body jsonb DEFAULT NULL::jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._price_table_errors(body);
  name text := preauth._price_table_name(body ->> 'model', body ->> 'variant');
  unit text := coalesce(body ->> 'unit', 'usd_nano');
  effective_from timestamptz;
  tiers jsonb;
  before preauth.price_table;
  made preauth.price_table;
  conflict text;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  lock table preauth.price_table in share row exclusive mode;  -- one publication at a time; nobody who prices waits
  effective_from := coalesce((body ->> 'effective_from')::timestamptz, preauth._now());
  tiers := preauth._tiers_of(body, unit);
  before := preauth._price_table_at(name, unit, effective_from);
  conflict := preauth._alias_conflict(body, name, unit, effective_from);
  if conflict is not null or (before.effective_from = effective_from and before.tiers is distinct from tiers) then
    return preauth._answered(preauth._problem('price_table_conflict', format('%s already says something else from %s on; what is published is never changed, only superseded by a later one.',
      coalesce(conflict, name), preauth._time(effective_from)), jsonb_build_object('name', coalesce(conflict, name), 'unit', unit)));
  end if;
  if before.tiers = tiers and (before.effective_from = effective_from or body ->> 'effective_from' is null) then
    perform preauth._open_aliases(body, name, unit, effective_from, actor);
    return preauth._answered(preauth._price_table_json(before) || '{"replayed": true}');
  end if;
  made := preauth._insert_price_table(body, name, unit, effective_from, tiers, actor);
  perform preauth._open_aliases(body, name, unit, effective_from, actor);
  perform preauth._log_change(actor, 'price_table', name, case when before.name is not null then preauth._price_table_json(before) end,
    preauth._price_table_json(made), body ->> 'reason');
  return preauth._answered(preauth._price_table_json(made) || '{"replayed": false}');
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.rerate(wrong_table bigint DEFAULT NULL::bigint, right_table bigint DEFAULT NULL::bigint, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, confirm boolean DEFAULT false, reason text DEFAULT NULL::text, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._rerate_errors(wrong_table, right_table, since, until, reason);
  refusal jsonb;
  tariff preauth._tariff;
  reratings preauth._rerating[];
  unpriced text;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  -- one rerating of a table at a time; nobody who prices waits
  perform from preauth.price_table as t where t.price_table_id in (wrong_table, right_table) order by t.price_table_id for no key update;
  refusal := preauth._rerate_refusal(wrong_table, right_table);
  if refusal is not null then
    return preauth._answered(refusal);
  end if;
  tariff := (preauth._tariffs_of(array[right_table]))[1];
  reratings := preauth._reratings(wrong_table, tariff, since, until);
  select min(f.unpriced) into unpriced from unnest(reratings) as f;
  if unpriced is not null then
    return preauth._answered(preauth._problem('dimension_unpriced', format('Price table %s has no rate for %s.', right_table, unpriced),
      jsonb_build_object('price_table_id', right_table, 'dimension', unpriced)));
  end if;
  if coalesce(confirm, false) then
    perform preauth._write_reratings(reratings, wrong_table, right_table, tariff.unit, actor, reason);
  end if;
  return preauth._answered(jsonb_build_object('wrong_table', wrong_table, 'right_table', right_table, 'unit', tariff.unit, 'since', preauth._time(since),
    'until', preauth._time(until), 'confirmed', coalesce(confirm, false)) || preauth._rerate_summary(reratings));
end
$function$;

revoke all on function preauth._is_plain_request(body jsonb) from public;

revoke all on function preauth._only_tariff(tariffs preauth._tariff[], model text) from public;

revoke all on function preauth._plain_amount(tariff preauth._tariff, counts jsonb) from public;

revoke all on function preauth._plain_tokens(counts jsonb) from public;

revoke all on function preauth._plain_total(counts jsonb, rates jsonb) from public;

revoke all on function preauth._priced_items(asks preauth._ask[], OUT items integer[], OUT models text[]) from public;

revoke all on function preauth._without_aliases(tariffs preauth._tariff[], at timestamp with time zone) from public;

revoke all on function preauth_api.publish_price_table(body jsonb, actor text) from public;

revoke all on function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text) from public;

comment on column preauth.price_table.plain is '{dimension: bound} of a table of money with one tier and no price of a request, by which most ceilings are made in one expression; else null.';

comment on function preauth._is_plain_request(body jsonb) is 'Whether a priced request says no more of what it asks for than its max_usage.';

comment on function preauth._only_tariff(tariffs preauth._tariff[], model text) is 'The tariff of a model that is priced in one unit; null where there is none or more than one.';

comment on function preauth._plain_amount(tariff preauth._tariff, counts jsonb) is 'The ceiling of usual bounds by a usual price table (one tier, no price of a request); null where preauth._price has to look properly.';

comment on function preauth._plain_tokens(counts jsonb) is 'The tokens of counts that name nothing but the usual dimensions.';

comment on function preauth._plain_total(counts jsonb, rates jsonb) is 'The exact sum of counts times rates where counts name nothing but the usual dimensions and each has a rate; else null.';

comment on function preauth._priced_items(asks preauth._ask[], OUT items integer[], OUT models text[]) is 'The items of a batch that are to be priced, and the models that they name, each once.';

comment on function preauth._quotes(asks preauth._ask[], OUT quotes preauth._quote[], OUT quote_of integer[]) is 'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null for an item that tells its amounts.';

comment on function preauth._without_aliases(tariffs preauth._tariff[], at timestamp with time zone) is 'The tariffs with the table that each alias stands for at that instant in its place.';

comment on function preauth_api.publish_price_table(body jsonb, actor text) is 'Publishes rates of a model from an instant on. body: {model, variant, unit (default usd_nano), effective_from (default now), rates {dimension: {micro_usd, per, required}} or tiers [{above_input_tokens, rates}], source, aliases, reason}; in other units a rate is {amount, per, required}. The same again is replayed; other rates of the same name, unit and instant are a 409 price_table_conflict. Returns the table, or a problem with nothing written.';

comment on function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text) is 'Prices what was spent from since until before until by the wrong table once more, by the right one, and tells the difference by account, in the tables'' unit. confirm: each window moves by an adjustment. What is rerated is not rerated again: the same call then finds nothing to do.';

select preauth._lock_down();

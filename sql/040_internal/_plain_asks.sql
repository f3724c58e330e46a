-- One statement for the whole batch: what preauth._is_plain looks at item by item, in many small steps, is begun once here, and asked there of what is less usual. What is
-- greater than '{}' is an object, and has members. Strict, so that a path is unknown where a figure is no number; and of the item as it came, for null within amounts or
-- bounds is no figure.
create function preauth._plain_asks(items jsonb, actors text[], within text[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(i.n, 'reserve', i.request_id, i.account_id, i.body, coalesce(actors[i.n], preauth._caller()), within[i.n], false, false, null)::preauth._ask
    from (
      select e.n::integer as n, e.item, e.item ->> 'request_id' as request_id, e.item ->> 'account_id' as account_id, e.item -> 'amounts' as amounts,
        e.item -> 'max_usage' as counts, '{"ttl_seconds": 120}' || jsonb_strip_nulls(e.item - array['request_id', 'account_id']) as body
      from jsonb_array_elements(items) with ordinality as e (item, n)
      where e.item > '{}' and e.item @@ 'strict $.request_id.type() == "string" && $.account_id.type() == "string"'
      offset 0
    ) as i
    where not i.body ? 'dry_run'
      and case
        when i.body - array['amounts', 'max_usage', 'model', 'ttl_seconds'] = '{}'
          and length(i.request_id) <= 128 and length(i.account_id) <= 128 and i.request_id ~ '^[A-Za-z0-9_.:@/-]+$' and i.account_id ~ '^[A-Za-z0-9_.:@/-]+$'
          and i.body @@ 'strict $.ttl_seconds >= 1 && $.ttl_seconds <= 86400' and strpos(i.body ->> 'ttl_seconds', '.') = 0
          and case
            when i.body ? 'amounts' then i.amounts > '{}' and i.amounts - array['usd_nano', 'tokens', 'requests'] = '{}'
              and i.amounts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)' and strpos(i.amounts::text, '.') = 0
            else i.body ? 'max_usage'
          end
          and case
            when i.body ? 'max_usage' then i.counts > '{}' and i.counts - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens'] = '{}'
              and i.counts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)' and strpos(i.counts::text, '.') = 0
            else true
          end
          and case
            when i.body ? 'model' then jsonb_typeof(i.item -> 'model') = 'string' and length(i.item ->> 'model') <= 128 and i.item ->> 'model' ~ '^[A-Za-z0-9_.:@/-]+$'
            else true
          end
        then true
        else preauth._is_plain('reserve', i.item)
      end
    order by i.n);
end
$$;
comment on function preauth._plain_asks(jsonb, text[], text[]) is
  'The items of a batch of reserve calls as preauth._asks checks them, but for twins: those that are certainly well-formed, and no dry run. The others are left out.';

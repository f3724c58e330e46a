create function preauth._insert_price_table(body jsonb, name text, unit text, effective_from timestamptz, tiers jsonb, actor text) returns preauth.price_table
language sql
as $$
  insert into preauth.price_table
    (name, model, variant, unit, effective_from, tiers, scale, numerators, required, source, published_at, published_by)
  select name, body ->> 'model', body ->> 'variant', unit, effective_from, tiers, s.scale, preauth._numerators_of(tiers, unit, s.scale),
    preauth._required_of(tiers), body ->> 'source', preauth._now(), coalesce(actor, session_user)
  from (select preauth._scale_of(tiers) as scale) as s
  returning price_table.*
$$;
comment on function preauth._insert_price_table(jsonb, text, text, timestamptz, jsonb, text) is 'Writes a price table with its rates worked out.';

create function preauth._strictest_expiry(policies text[]) returns text
language sql stable
as $$
  select case when 'keep' = any (policies) then 'keep' when 'charge' = any (policies) then 'charge' else 'release' end
$$;
comment on function preauth._strictest_expiry(text[]) is 'What becomes of a reservation when its time passes, from what becomes of its lines.';

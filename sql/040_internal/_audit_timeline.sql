create function preauth._audit_timeline(r preauth.reservation) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, preauth._now()),
    'items', jsonb_agg(jsonb_build_object(
      'at', t.step -> 'at', 'event', t.step -> 'event', 'actor', t.step -> 'actor',
      'amounts', d.detail -> 'amounts', 'overage', d.detail -> 'overage', 'detail', nullif(d.detail - array['amounts', 'overage'], '{}')) order by t.ordinality))
  from jsonb_array_elements(preauth._timeline(r)) with ordinality as t (step)
  cross join lateral (
    select case when t.ordinality = 1 then preauth._decision_detail(r) else nullif(t.step -> 'detail', 'null') end
  ) as d (detail)
$$;
comment on function preauth._audit_timeline(preauth.reservation) is 'A reservation''s timeline as auditors read it: the decision with what was asked and held, then each later event.';

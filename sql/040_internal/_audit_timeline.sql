create function preauth._audit_timeline(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  steps jsonb := preauth._timeline(r);
  items jsonb[] := array[]::jsonb[];
  step jsonb;
  detail jsonb := preauth._decision_detail(r);
begin
  for n in 0 .. jsonb_array_length(steps) - 1 loop
    step := steps -> n;
    if n > 0 then
      detail := nullif(step -> 'detail', 'null');
    end if;
    items[n] := jsonb_build_object(
      'at', step -> 'at', 'event', step -> 'event', 'actor', step -> 'actor',
      'amounts', detail -> 'amounts', 'overage', detail -> 'overage', 'detail', nullif(detail - array['amounts', 'overage'], '{}'));
  end loop;
  return jsonb_build_object('request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, preauth._now()), 'items', to_jsonb(items));
end
$$;
comment on function preauth._audit_timeline(preauth.reservation) is 'A reservation''s timeline as auditors read it: the decision with what was asked and held, then each later event.';

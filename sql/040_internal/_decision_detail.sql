create function preauth._decision_detail(r preauth.reservation) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'amounts', preauth._chosen_amounts(r), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1,
    'price_table_ids', to_jsonb(r.price_table_ids), 'denial', r.denial,
    'lines', (
      select jsonb_agg(jsonb_build_object(
        'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key, 'amount', l.amount, 'available', l.available_after) order by l.position)
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id)))
$$;
comment on function preauth._decision_detail(preauth.reservation) is 'What a decision was about and what it held: amounts in their units, shared scopes with their fill level.';

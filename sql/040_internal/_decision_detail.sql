create function preauth._decision_detail(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  lines jsonb[];
begin
  if r.denial is null then
    lines := preauth._decided_lines(r);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'amounts', preauth._chosen_amounts(r), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1,
    'price_table_ids', to_jsonb(r.price_table_ids), 'denial', r.denial, 'lines', to_jsonb(lines)));
end
$$;
comment on function preauth._decision_detail(preauth.reservation) is 'What a decision was about and what it held: amounts in their units, shared scopes with their fill level.';

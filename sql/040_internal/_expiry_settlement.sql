create function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], from_line integer, to_line integer, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._settlement(row(0, 'settle', r.request_id, r.account_id,
    jsonb_build_object('amounts', preauth._chosen_amounts(r), 'outcome', 'expired'), 'expiry', null, false, false, null)::preauth._ask,
    closed, from_line, to_line, at)::jsonb;
end
$$;
comment on function preauth._expiry_settlement(preauth.reservation, preauth._closed[], integer, integer, timestamptz) is
  'The settlement of a hold that was charged when its time passed: its lines are closed from from_line to to_line.';

create function preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamptz, affordable jsonb, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'reason', ruling.verdict,
    'budget', slot.budget,
    'scope', slot.scope,
    'window', slot.window_key,
    'unit', slot.unit,
    'limit', coalesce(slot.limit_amount, slot.capacity),
    'required', ruling.required,
    'available', ruling.available,
    'settled', slot.settled,
    'retry_after_ms', case when fits_at is not null then greatest(ceil(extract(epoch from fits_at - at) * 1000)::bigint, 1) end,
    'resets_at', preauth._time(slot.ends_at),
    'affordable', affordable);
end
$$;
comment on function preauth._denial(preauth._ruling, preauth._slot, timestamptz, jsonb, timestamptz) is 'A denial with the figures that prove it, as it is recorded.';

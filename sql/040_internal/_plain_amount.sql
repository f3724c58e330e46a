create function preauth._plain_amount(tariff preauth._tariff, counts jsonb) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when tariff.plain is null or not (counts ?& tariff.required
      or counts ?| array['output_tokens', 'completion_tokens'] and counts ?| array['input_tokens', 'prompt_tokens']
        and tariff.required <@ array['input_tokens', 'output_tokens']) then null
    else div(preauth._plain_total(counts, tariff.plain) + tariff.scale - 1, tariff.scale)
  end;
end
$$;
comment on function preauth._plain_amount(preauth._tariff, jsonb) is
  'The ceiling of usual bounds by a usual price table (one tier, no price of a request); null where preauth._price has to look properly.';

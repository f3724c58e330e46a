create function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamptz, ends_at timestamptz, trails interval, at timestamptz) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when limit_amount is not null then format(
    '{"RateLimit-Policy": "\"%s\";q=%s%s", "RateLimit": "\"%s\";r=%s%s"}',
    budget, least(limit_amount, 999999999999999),
    case when isfinite(ends_at) or trails is not null then ';w=' || ceil(extract(epoch from coalesce(trails, ends_at - starts_at)))::bigint else '' end,
    budget, least(greatest(available, 0), 999999999999999),
    case when isfinite(ends_at) then ';t=' || greatest(ceil(extract(epoch from ends_at - at)), 0)::bigint else '' end)::json end;
end
$$;
comment on function preauth._rate_limit_headers(text, bigint, bigint, timestamptz, timestamptz, interval, timestamptz) is 'RateLimit-Policy and RateLimit of one budget window (IETF httpapi draft): q and r in the budget''s unit, w and t in seconds. trails: the period of a rolling window, which has no end and so no t.';

create function preauth._problem(code text, detail text, more jsonb default '{}') returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'type', 'https://preauth.dev/problems/' || code,
    'title', k.title,
    'status', k.status,
    'detail', detail) || more
  from (values
    ('malformed', 400, 'The request is malformed'),
    ('forbidden', 403, 'This key may not do that'),
    ('reservation_unknown', 404, 'No such reservation'),
    ('account_unknown', 404, 'No such account'),
    ('plan_unknown', 404, 'No such plan'),
    ('budget_unknown', 404, 'No such budget'),
    ('key_unknown', 404, 'No such key'),
    ('price_table_unknown', 404, 'No such price table'),
    ('window_unknown', 404, 'No such window'),
    ('raise_unknown', 404, 'No such raise'),
    ('request_id_conflict', 409, 'The request_id was used for another request'),
    ('settlement_conflict', 409, 'It was settled with other usage'),
    ('settlement_exceeds_hold', 409, 'The usage exceeds the hold'),
    ('not_authorized', 409, 'The reservation was denied'),
    ('already_settled', 409, 'The reservation is settled'),
    ('already_released', 409, 'The reservation was released'),
    ('hold_lapsed', 409, 'The hold has lapsed'),
    ('holds_open', 409, 'The account has open holds'),
    ('not_denied', 409, 'The reservation was authorized'),
    ('account_id_required', 409, 'The request_id names several reservations'),
    ('price_table_conflict', 409, 'A published price table never changes'),
    ('price_missing', 422, 'The model has no price'),
    ('dimension_unpriced', 422, 'A dimension has no price'),
    ('dimension_unbounded', 422, 'A dimension has no bound'),
    ('amount_missing', 422, 'An amount is missing'),
    ('amount_out_of_range', 422, 'The window cannot count that far'),
    ('reference_unknown', 422, 'The request names something that does not exist'),
    ('parent_cycle', 422, 'An account cannot be below itself'),
    ('account_too_deep', 422, 'The account tree is too deep')
  ) as k (code, status, title)
  where k.code = _problem.code
$$;
comment on function preauth._problem(text, text, jsonb) is 'A refusal as problem+json. The closed vocabulary of codes with their statuses; docs/errors.md explains each.';

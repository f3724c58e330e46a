create function preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
      'type', 'https://preauth.dev/problems/denied',
      'title', 'The account may not spend that much',
      'status', preauth._denial_status(denial),
      'detail', preauth._denial_detail(account_id, denial),
      'request_id', request_id,
      'account_id', account_id,
      'decision', 'denied',
      'replayed', replayed)
    || (denial - 'settled' - case when denial ->> 'scope' is distinct from account_id then array['available', 'affordable'] else array[]::text[] end);
end
$$;
comment on function preauth._denial_body(text, text, jsonb, boolean) is 'The body of a denial; the fill level of a shared scope is left out.';

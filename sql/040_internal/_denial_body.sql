-- Text, as preauth._authorization: what is named in it has no character that JSON escapes.
create function preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  told jsonb := denial - 'settled';
begin
  if (denial ->> 'scope' = account_id) is not true then
    told := told - 'available' - 'affordable';
  end if;
  return format('{"type": "https://preauth.dev/problems/denied", "title": "The account may not spend that much", "status": %s, "detail": "%s", '
      '"request_id": "%s", "account_id": "%s", "decision": "denied", "replayed": %s, %s',
    preauth._denial_status(denial), preauth._denial_detail(account_id, denial), request_id, account_id, replayed::text, substr(told::text, 2))::json;
end
$$;
comment on function preauth._denial_body(text, text, jsonb, boolean) is 'The body of a denial; the fill level of a shared scope is left out.';

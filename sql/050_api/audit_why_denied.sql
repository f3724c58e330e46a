create function preauth_api.audit_why_denied(request_id text default null, account_id text default null, max_count integer default 100) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._page_errors(max_count, null);
  found record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  found := preauth._asked_about(request_id, account_id);
  if found.problem is not null then
    return preauth._answered(found.problem);
  end if;
  if (found.held[1]).denial is null then
    return preauth._answered(preauth._problem('not_denied', format('Reservation %s was authorized.', request_id)));
  end if;
  return preauth._why_denied(found.held[1], max_count);
end
$$;
comment on function preauth_api.audit_why_denied(text, text, integer) is
  'A denial with the rows that proved it: the window''s limit, settled, reserved and available at that instant, as they are now, and the holds that were open then, newest first, at most max_count (1 to 500). items_amount is their sum, held_by_others what the rest of reserved is. Amounts in the window''s unit. 409 not_denied if it was authorized.';

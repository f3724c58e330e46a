create function preauth._respond(answer preauth._answer) returns jsonb
language plpgsql
as $$
begin
  if current_setting('request.method', true) is not null then
    perform set_config('response.status', answer.status::text, true);
    perform set_config('response.headers', (
      select coalesce(json_agg(json_build_object(h.key, h.value)), '[]') from json_each_text(answer.headers) as h)::text, true);
  end if;
  return answer.body::jsonb;
end
$$;
comment on function preauth._respond(preauth._answer) is 'The body of a single call''s answer. Under PostgREST (which sets request.method) status and headers are set too.';

create function preauth._respond(answer preauth._answer) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(current_setting('request.method', true), '') = '' then
    return answer.body::jsonb;
  end if;
  perform set_config('response.status', answer.status::text, true);
  perform set_config('response.headers', (
    select json_agg(json_build_object(h.key, h.value))
    from (
      select * from json_each_text(answer.headers)
      union all
      select 'Content-Type', case when answer.status < 400 then 'application/json; charset=utf-8' else 'application/problem+json' end
    ) as h)::text, true);
  return preauth._with_client_error(answer.body::jsonb);
end
$$;
comment on function preauth._respond(preauth._answer) is 'The body of a single call''s answer. Under PostgREST (which sets request.method) status and headers are set too.';

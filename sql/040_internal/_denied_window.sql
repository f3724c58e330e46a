create function preauth._denied_window(r preauth.reservation) returns preauth.budget_window
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select w
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  where w.account_id = r.denial ->> 'scope' and b.name = r.denial ->> 'budget' and b.unit = r.denial ->> 'unit' and w.window_key = r.denial ->> 'window'
    and w.starts_at <= r.created_at and w.ends_at > r.created_at
  order by b.created_at <= r.created_at desc, b.budget_id desc
  limit 1
$$;
comment on function preauth._denied_window(preauth.reservation) is 'The window that could not cover a denied request; null where the reason is no window''s.';

create function preauth._renamed_subject(subject_id text, before text, after text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when subject_id = before then after
    when starts_with(subject_id, 'account:' || before || '/') then 'account:' || after || substr(subject_id, length('account:' || before) + 1)
    else after || substr(subject_id, length(before) + 1)
  end
  where subject_id = before or starts_with(subject_id, before || '/') or starts_with(subject_id, 'account:' || before || '/')
$$;
comment on function preauth._renamed_subject(text, text, text) is 'What a change was about, with the account before called after: its id, or one that begins with it; null where it names another.';

-- By one pattern over the whole text. So short a text has no value of more than 128 characters, and no more than 13 labels.
create function preauth._are_plain_labels(labels jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return length(labels::text) <= 136
    and labels::text ~ '^\{("[a-z][a-z0-9_.-]*": "[A-Za-z0-9 _.:@/+-]+"(, "[a-z][a-z0-9_.-]*": "[A-Za-z0-9 _.:@/+-]+")*)?\}$'
    and labels @@ 'strict !exists($.keyvalue().key ? (@ like_regex "^.{33}"))';
end
$$;
comment on function preauth._are_plain_labels(jsonb) is 'Whether labels are certainly well-formed: short, of letters, digits and few signs. When they are not, preauth._labels_errors looks properly.';

-- Alembic makes it too, before the first revision: the two must be the same.
create table if not exists preauth.alembic_version (
  version_num varchar(32) not null,
  constraint alembic_version_pkc primary key (version_num)
);
alter table preauth.alembic_version enable row level security;
comment on table preauth.alembic_version is 'The revision of the schema: one row, written by alembic or by the bundle.';
comment on column preauth.alembic_version.version_num is 'The revision''s number.';

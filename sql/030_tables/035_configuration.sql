-- One row. Statement triggers on what decides which budgets apply raise the version, so that no function can forget to.
create table preauth.configuration (
  is_only boolean not null default true,
  version bigint not null,
  constraint configuration_pkey primary key (is_only),
  constraint configuration_has_one_row check (is_only)
);
alter table preauth.configuration enable row level security;
insert into preauth.configuration (version) values (1);
comment on table preauth.configuration is 'The one row that says which version of accounts and budgets is in force.';
comment on column preauth.configuration.is_only is 'True: there is no second row.';
comment on column preauth.configuration.version is 'Raised with every change of an account or a budget; a route of another version does not hold.';

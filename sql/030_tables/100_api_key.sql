create table preauth.api_key (
  key_id text not null,
  name text not null,
  role text not null,
  account_id text,
  key_hash bytea not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  constraint api_key_pkey primary key (key_id),
  constraint api_key_hash_once unique (key_hash),
  constraint api_key_hash_is_sha256 check (octet_length(key_hash) = 32),
  constraint api_key_role_known check (role in ('spend', 'audit', 'admin')),
  constraint api_key_binding_is_for_spend check (account_id is null or role = 'spend')
);
alter table preauth.api_key enable row level security;
comment on table preauth.api_key is 'Keys of the REST service. Only a hash is stored.';
comment on column preauth.api_key.key_id is 'Public id; what audits name as the actor.';
comment on column preauth.api_key.name is 'What the key is for.';
comment on column preauth.api_key.role is 'spend, audit or admin.';
comment on column preauth.api_key.account_id is 'Root of the subtree a spend key is bound to; null: all accounts.';
comment on column preauth.api_key.key_hash is 'SHA-256 of the secret (256 random bits, so no salt is due).';
comment on column preauth.api_key.created_at is 'When it was made.';
comment on column preauth.api_key.revoked_at is 'When it stopped working; null while it works.';

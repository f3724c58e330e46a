-- Only on what administrators change; no call of section 2 fires one. An account that is made changes no other account's route.
create trigger account_changed after update on preauth.account for each statement execute function preauth._raise_version();
create trigger budget_changed after insert or update or delete on preauth.budget for each statement execute function preauth._raise_version();

create schema preauth;
comment on schema preauth is 'The ledger: tables and private functions. Nobody but the owner is granted anything here.';

create schema preauth_api;
comment on schema preauth_api is 'What callers may use: functions to write, functions and views to read.';

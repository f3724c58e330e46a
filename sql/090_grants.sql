-- Functions are executable by everyone until that is taken away.
revoke all on all functions in schema preauth from public;
revoke all on all functions in schema preauth_api from public;
revoke all on schema preauth from public;
revoke all on schema preauth_api from public;

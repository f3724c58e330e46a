create function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamptz) returns jsonb
language sql stable
as $$
  select s.reply
  from preauth._settlement_replies(array[row(0, 'settle', r.request_id, r.account_id,
    jsonb_build_object('amounts', preauth._chosen_amounts(r), 'outcome', 'expired'), 'expiry', null, false, false, null)::preauth._ask], closed, at) as s
$$;
comment on function preauth._expiry_settlement(preauth.reservation, preauth._closed[], timestamptz) is 'The settlement of a hold that was charged because its time had passed.';

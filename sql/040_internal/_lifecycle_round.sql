create function preauth._lifecycle_round(call text, asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
begin
  case call
    when 'settle' then return query select * from preauth._settle_round(asks, at);
    when 'release' then return query select * from preauth._release_round(asks, at);
    when 'extend' then return query select * from preauth._extend_round(asks, at);
    when 'cancel' then return query select * from preauth._cancel_round(asks, at);
    when 'resolve' then return query select * from preauth._resolve_round(asks, at);
  end case;
end
$$;
comment on function preauth._lifecycle_round(text, preauth._ask[], timestamptz) is 'One call each on reservations that are locked and all different.';

create function preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
as $$
begin
  case call
    when 'settle' then return preauth._settle_round(asks, held, at);
    when 'release' then return array(select r from preauth._release_round(asks, at) as r);
    when 'extend' then return array(select r from preauth._extend_round(asks, at) as r);
    when 'cancel' then return array(select r from preauth._cancel_round(asks, at) as r);
    else return preauth._resolve_round(asks, at);
  end case;
end
$$;
comment on function preauth._lifecycle_round(text, preauth._ask[], preauth.reservation[], timestamptz) is 'Takes asks for locked reservations that are all different.';

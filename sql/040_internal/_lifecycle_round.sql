create function preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  case call
    when 'settle' then return preauth._settle_round(asks, held, at);
    when 'release' then return preauth._release_round(asks, held, at);
    when 'extend' then return preauth._extend_round(asks, held, at);
    when 'cancel' then return preauth._cancel_round(asks, held, at);
    else return preauth._resolve_round(asks, at);
  end case;
end
$$;
comment on function preauth._lifecycle_round(text, preauth._ask[], preauth.reservation[], timestamptz) is 'Takes asks for locked reservations that are all different.';

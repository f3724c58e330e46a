create function preauth._locate(ask preauth._ask, out account_id text, out problem text)
language plpgsql stable
as $$
declare
  candidates text[];
begin
  account_id := ask.account_id;
  if ask.errors is not null then
    problem := 'malformed';
  elsif account_id is not null then
    if ask.within is not null and not preauth._is_within(account_id, ask.within) then
      problem := 'forbidden';
    elsif not exists (select from preauth.reservation as r where r.request_id = ask.request_id and r.account_id = _locate.account_id) then
      problem := 'reservation_unknown';
    end if;
  else
    candidates := array(select r.account_id from preauth.reservation as r
                        where r.request_id = ask.request_id and preauth._is_within(r.account_id, ask.within) limit 2);
    account_id := candidates[1];
    problem := case cardinality(candidates) when 0 then 'reservation_unknown' when 2 then 'account_id_required' end;
  end if;
end
$$;
comment on function preauth._locate(preauth._ask) is 'The account of the reservation that an item means, among those its caller may see; or the problem with it.';

create function preauth._own_tariffs(r preauth.reservation, tariffs preauth._tariff[]) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  own preauth._tariff[] := array[]::preauth._tariff[];
begin
  if r.price_table_ids is null then
    return case when r.model is not null and preauth._option_counts(r.body, r.option_no) is null then preauth._tariffs(array[r.model], r.created_at) else own end;
  end if;
  for t in 1 .. cardinality(tariffs) loop
    if tariffs[t].price_table_id = any (r.price_table_ids) then
      own := own || tariffs[t];
    end if;
  end loop;
  return own;
end
$$;
comment on function preauth._own_tariffs(preauth.reservation, preauth._tariff[]) is
  'By what a reservation''s usage is priced, whatever was published since: the tables that priced its ceiling; where it told amounts alone, those in effect and published when it was made; nothing where its ceiling could not be priced.';

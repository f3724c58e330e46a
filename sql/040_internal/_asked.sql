create function preauth._asked(wishes preauth._wish[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._with_twins(array(
    select row(row_number() over (order by w.n), 'reserve', w.request_id, w.account_id, w.body, w.actor, w.within, false, false, null)::preauth._ask
    from unnest(wishes) as w
    order by w.n));
end
$$;
comment on function preauth._asked(preauth._wish[]) is 'Wishes as the items of a batch of their own, numbered 1, 2, 3, …';

create function preauth._fitting(wishes preauth._wish[], filled preauth._filled[]) returns preauth._wish[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select x.wish
    from (
      select w as wish, w.n, bool_and((w.route).window_ids <@ array(select f.window_id from unnest(filled) as f)) over (partition by w.request_id, w.account_id) as fits
      from unnest(wishes) as w
    ) as x
    where x.fits
    order by x.n);
end
$$;
comment on function preauth._fitting(preauth._wish[], preauth._filled[]) is
  'The wishes all of whose windows had room, but for those with the key of one that has not: which of these comes first is for their order to tell.';

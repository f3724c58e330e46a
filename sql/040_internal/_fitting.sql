create function preauth._fitting(wishes preauth._wish[], filled preauth._filled[]) returns preauth._wish[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select w from unnest(wishes) as w
    where (w.route).window_ids <@ array(select f.window_id from unnest(filled) as f)
    order by w.n);
end
$$;
comment on function preauth._fitting(preauth._wish[], preauth._filled[]) is
  'The wishes all of whose windows had room. All of one account are among them, or none: so are all with the same key.';

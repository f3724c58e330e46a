create function preauth._aged(windows preauth.budget_window[]) returns preauth.budget_window[]
language plpgsql
as $$
declare
  rolling bigint[] := array(select w.window_id from unnest(windows) as w where w.slice_length is not null);
begin
  if cardinality(rolling) = 0 or not preauth._age(rolling, preauth._now()) then
    return windows;
  end if;
  return array(
    select x from unnest(windows) with ordinality as w
    join preauth.budget_window as x on x.window_id = w.window_id
    order by w.ordinality);
end
$$;
comment on function preauth._aged(preauth.budget_window[]) is 'Locked windows as they are now: what has aged out of the rolling ones is taken from them, and written down.';

-- Where all of a batch fits, its order decides nothing, and each window is asked once whether it has room for everything. What touches a window that has not, or was
-- decided before, is left to preauth._take, with the routes and the locks that are held here: it finds those windows as they were.
create function preauth._admit(wishes preauth._wish[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  locked record;
  at timestamptz;
  filled preauth._filled[];
  granted preauth._wish[] := wishes;
begin
  locked := preauth._lock_wished(wishes);
  at := preauth._now();
  if locked.rolls then
    perform preauth._age(locked.window_ids, at);
  end if;
  if locked.raised_until <= at then
    perform preauth._end_raises(locked.window_ids, at);
  end if;
  filled := preauth._fill(wishes, at);
  if cardinality(filled) < cardinality(locked.window_ids) then
    granted := preauth._fitting(wishes, filled);
  end if;
  if cardinality(granted) > 0 then
    granted := preauth._record_wishes(wishes, granted, at);
  end if;
  if cardinality(granted) = cardinality(wishes) then
    return preauth._admitted(granted, filled, at);
  end if;
  return preauth._with_rest(wishes, granted, filled, at);
end
$$;
comment on function preauth._admit(preauth._wish[]) is 'Authorizes the wishes that plainly fit, has the others decided one by one, and answers all, in their order.';

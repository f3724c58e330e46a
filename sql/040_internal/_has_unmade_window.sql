create function preauth._has_unmade_window(routes preauth._route[]) returns boolean
language plpgsql stable
as $$
begin
  for k in 1 .. cardinality(routes) loop
    if array_position(routes[k].window_ids, null) is not null then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._has_unmade_window(preauth._route[]) is 'Whether a window of any route is not made yet.';

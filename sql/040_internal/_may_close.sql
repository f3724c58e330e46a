create function preauth._may_close(state text, next_state text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return state = 'held' or (state in ('released', 'lapsed') and next_state = 'settled');
end
$$;
comment on function preauth._may_close(text, text) is 'A held line may be settled, released or lapse; what was given back may still be settled, late. A settled line never changes.';

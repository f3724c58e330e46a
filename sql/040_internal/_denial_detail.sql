create function preauth._denial_detail(account_id text, denial jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not denial ? 'budget' then
    return format('The request was denied (%s); the figures that proved it are archived.', denial ->> 'reason');
  end if;
  return case denial ->> 'reason'
    when 'account_unknown' then format('Account %s is not known.', account_id)
    when 'account_suspended' then format('Account %s, or one above it, is suspended.', account_id)
    when 'no_budget' then format('No budget applies to account %s, and none says unlimited.', account_id)
    when 'too_many_holds' then format('Account %s has as many open holds as it may.', denial ->> 'scope')
    when 'exceeds_limit' then format('%s %s is more than the whole limit of budget %s of %s.',
      denial ->> 'required', denial ->> 'unit', denial ->> 'budget', denial ->> 'scope')
    else format('Budget %s of %s cannot cover %s %s in window %s.',
      denial ->> 'budget', denial ->> 'scope', denial ->> 'required', denial ->> 'unit', denial ->> 'window')
  end;
end
$$;
comment on function preauth._denial_detail(text, jsonb) is 'One sentence for a person. No fill level in it; of an archived denial no figure at all.';

create function preauth._correct_settled(window_id bigint, amount bigint, at timestamptz) returns void
language plpgsql
as $$
begin
  update preauth.budget_window as w set settled = w.settled + amount where w.window_id = _correct_settled.window_id;
end
$$;
comment on function preauth._correct_settled(bigint, bigint, timestamptz) is 'Corrects what a locked window counts as settled, by a signed amount in the budget''s unit. The usage event is the caller''s to write.';

create function preauth._correct_settled(window_id bigint, amount bigint, at timestamptz) returns preauth.budget_window
language plpgsql
as $$
declare
  w preauth.budget_window;
begin
  update preauth.budget_window as x set settled = x.settled + amount where x.window_id = _correct_settled.window_id returning x.* into w;
  return w;
end
$$;
comment on function preauth._correct_settled(bigint, bigint, timestamptz) is
  'Moves what a locked window counts as settled by an adjustment''s signed amount, in the budget''s unit; the window after. The usage event of the same instant is its caller''s.';

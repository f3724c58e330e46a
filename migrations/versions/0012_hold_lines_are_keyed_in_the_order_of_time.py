"""Hold lines are keyed in the order of time."""

from service.migrate import run_file

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_file("0012_hold_lines_are_keyed_in_the_order_of_time.sql")

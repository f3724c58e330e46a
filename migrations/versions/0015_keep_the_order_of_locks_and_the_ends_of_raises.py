"""Keep the order of locks, and the ends of raises."""

from service.migrate import run_file

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    run_file("0015_keep_the_order_of_locks_and_the_ends_of_raises.sql")

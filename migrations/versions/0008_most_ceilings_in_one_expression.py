"""Most ceilings in one expression."""

from service.migrate import run_file

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_file("0008_most_ceilings_in_one_expression.sql")

"""Changes that forget nothing."""

from service.migrate import run_file

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_file("0005_changes_that_forget_nothing.sql")

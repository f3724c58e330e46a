"""Lock the ledger down."""

from service.migrate import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_file("0002_lock_the_ledger_down.sql")

"""The ledger."""

from service.migrate import run_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_file("0001_the_ledger.sql")

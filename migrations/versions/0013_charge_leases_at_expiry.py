"""Charge leases at expiry."""

from service.migrate import run_file

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_file("0013_charge_leases_at_expiry.sql")

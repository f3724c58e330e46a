"""Prices."""

from service.migrate import run_file

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_file("0004_prices.sql")

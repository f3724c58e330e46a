"""Cycles rolling windows and thresholds."""

from service.migrate import run_file

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_file("0007_cycles_rolling_windows_and_thresholds.sql")

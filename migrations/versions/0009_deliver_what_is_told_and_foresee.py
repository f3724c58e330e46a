"""Deliver what is told and foresee."""

from service.migrate import run_file

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_file("0009_deliver_what_is_told_and_foresee.sql")

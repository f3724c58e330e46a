"""Denials and replays cost what they repeat."""

from service.migrate import run_file

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_file("0011_denials_and_replays_cost_what_they_repeat.sql")

"""Authorize and settle at once what is plain."""

from service.migrate import run_file

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run_file("0014_authorize_and_settle_at_once_what_is_plain.sql")

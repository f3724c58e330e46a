"""Routes are kept."""

from service.migrate import run_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_file("0003_routes_are_kept.sql")

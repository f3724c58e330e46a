"""What is old moves out."""

from service.migrate import run_file

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_file("0008_what_is_old_moves_out.sql")

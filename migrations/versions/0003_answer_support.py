"""Answer support."""

from service.migrate import run_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_file("0003_answer_support.sql")

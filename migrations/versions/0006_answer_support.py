"""Answer support."""

from service.migrate import run_file

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_file("0006_answer_support.sql")

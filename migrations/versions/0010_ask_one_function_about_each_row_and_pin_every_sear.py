"""Ask one function about each row and pin every search path."""

from service.migrate import run_file

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_file("0010_ask_one_function_about_each_row_and_pin_every_sear.sql")

"""The options that every benchmark has."""

import argparse
from dataclasses import dataclass
from typing import Any

__all__ = ["Options", "parse"]

MOST_ROUNDS = 20
MOST_SECONDS = 60


@dataclass(frozen=True)
class Options:
    """How long to measure."""

    rounds: int
    seconds: int


def parse(description: str | None, **more: tuple[int, str]) -> tuple[Options, dict[str, int]]:
    """Read the command line; ``more``: further whole numbers, each (default, help)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=_between(MOST_ROUNDS), default=3)
    parser.add_argument("--seconds", type=_between(MOST_SECONDS), default=5, help="of each trial")
    for name, (default, meaning) in more.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=meaning)
    given: dict[str, Any] = vars(parser.parse_args())
    options = Options(given.pop("rounds"), given.pop("seconds"))
    return options, given


def _between(most: int) -> Any:
    def read(text: str) -> int:
        value = int(text)
        if not 1 <= value <= most:
            raise argparse.ArgumentTypeError(f"must be 1 to {most}")
        return value

    return read

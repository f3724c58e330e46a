"""Run the campaign and print what came of it; the exit status says whether the ledger held."""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.campaign.campaign import Campaign, Options
from tests.e2e.campaign.report import report
from tests.e2e.campaign.stage import Stage

__all__ = ["main"]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.campaign", description=__doc__)
    for name, default in vars(Options()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    options = Options(**vars(parser.parse_args()))
    print(" ".join(f"{name} {value}" for name, value in vars(options).items()), flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(
        prefix="preauth-campaign-", ignore_cleanup_errors=True
    ) as place:
        stage = Stage(Path(place), options.workers, random.Random(options.seed))
        campaign = Campaign(options, stage)
        figures = asyncio.run(campaign.run())
    print("\n".join(report(figures, stage, time.monotonic() - began)))
    return 1 if figures.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())

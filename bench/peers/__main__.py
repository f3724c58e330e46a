"""Peers: other projects' ways to cap spend, behind HTTP, under the same load."""

import subprocess
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.harness import load
from bench.harness.conditions import conditions
from bench.harness.database import Database, database, work_dir
from bench.harness.load import Load
from bench.harness.measure import Contender, Results, interleave
from bench.harness.options import Options, parse
from bench.harness.report import Ratio, heading, measurements, ratios
from bench.harness.seed import seed
from bench.harness.servers import Server, bare, preauth
from bench.harness.tools import need
from bench.peers import install
from bench.peers.servers import REDIS, budget_cap, credit_ledger

LOADS = {"hot": Load(), "10,000 accounts": Load(account="a", accounts=10_000)}
ALWAYS, DEFAULT = (f"llm-budget-cap on Redis, {durability}" for durability in REDIS)
BARE = "bare no-op"
RATIOS = [
    Ratio("hot ÷ llm-budget-cap, fsync always", "Preauth, hot", f"{ALWAYS}, hot", 0.7, 1.0),
    Ratio("hot ÷ llm-budget-cap, Redis's defaults", "Preauth, hot", f"{DEFAULT}, hot"),
    Ratio("hot ÷ credit-ledger", "Preauth, hot", "credit-ledger, hot"),
    Ratio("10,000 accounts ÷ llm-budget-cap, fsync always",
          "Preauth, 10,000 accounts", f"{ALWAYS}, 10,000 accounts"),
    Ratio("10,000 accounts ÷ credit-ledger",
          "Preauth, 10,000 accounts", "credit-ledger, 10,000 accounts"),
    Ratio("p99, hot ÷ llm-budget-cap, fsync always", "Preauth, hot", f"{ALWAYS}, hot",
          field="p99_ms", at_most=True),
    Ratio("bare no-op ÷ llm-budget-cap, fsync always", f"{BARE}, hot", f"{ALWAYS}, hot"),
]  # fmt: skip


def start(made: Database, directory: Path, stack: ExitStack) -> dict[str, Server]:
    """Preauth and every peer that can be installed."""
    servers = {
        "Preauth": stack.enter_context(preauth(made, directory)),
        BARE: stack.enter_context(bare(made, directory)),
    }
    if install.node():
        for name, durability in zip((ALWAYS, DEFAULT), REDIS, strict=True):
            servers[name] = stack.enter_context(budget_cap(durability, directory))
    if install.credit_ledger():
        servers["credit-ledger"] = stack.enter_context(credit_ledger(made, directory))
    return servers


def contenders(servers: dict[str, Server]) -> list[Contender]:
    return [
        Contender(f"{name}, {shape}", partial(load.run, server, wanted))
        for shape, wanted in LOADS.items()
        for name, server in servers.items()
    ]


def versions() -> str:
    """Of the peers' own servers."""
    said = []
    for command in (["node", "--version"], ["redis-server", "--version"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            continue
        said.append(f"{command[0]} {done.stdout.split(' sha=')[0].strip()}")
    return ", ".join(said)


def measure(options: Options) -> tuple[Results, str]:
    with ExitStack() as stack:
        made = stack.enter_context(database())
        directory = stack.enter_context(work_dir())
        seed(made)
        servers = start(made, directory, stack)
        told = conditions(made, options, "wrk with one thread, 64 clients", versions())
        results = interleave(contenders(servers), options)
        return results, f"{told} {made.mismatches()}."


def main() -> None:
    options, _ = parse(__doc__)
    if not need("wrk", "wrk"):
        raise SystemExit(1)
    results, told = measure(options)
    heading("Peers", told)
    measurements(results, "calls a second")
    ratios(results, RATIOS)


if __name__ == "__main__":
    main()

"""Starting the peers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.harness.database import Database
from bench.harness.servers import Server, checked, free_port, reference, serving
from bench.peers.install import CREDIT_LEDGER, NODE

__all__ = ["REDIS", "budget_cap", "credit_ledger"]

TABLES = Path(__file__).parent / "credit_ledger" / "tables.sql"
REDIS = {
    "fsync always": ("--appendonly", "yes", "--appendfsync", "always"),
    "defaults (no log)": (),
}


@contextmanager
def budget_cap(durability: str, directory: Path) -> Iterator[Server]:
    """llm-budget-cap behind Node's http, on a Redis of its own."""
    with _redis(REDIS[durability], directory) as (redis_port, redis):
        port = free_port()
        environment = {"BENCH_PORT": str(port), "BENCH_REDIS_PORT": str(redis_port)}
        log = directory / f"node-{port}.log"
        command = ["node", str(NODE / "server.js")]
        with serving(command, port, log, {**environment, "NODE_ENV": "production"}) as pid:
            yield checked(Server(port, pid, redis), log)


@contextmanager
def credit_ledger(database: Database, directory: Path) -> Iterator[Server]:
    """credit-ledger behind Litestar, in the same PostgreSQL."""
    database.execute(TABLES.read_text())
    path = {"PYTHONPATH": f"{NODE.parents[2]}:{CREDIT_LEDGER}"}
    with reference("bench.peers.credit_ledger.app", database, directory, path) as server:
        yield server


@contextmanager
def _redis(options: tuple[str, ...], directory: Path) -> Iterator[tuple[int, int]]:
    port = free_port()
    data = directory / f"redis-{port}"
    data.mkdir()
    command = [
        "redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(data), *options,
    ]  # fmt: skip
    with serving(command, port, directory / f"redis-{port}.log") as pid:
        yield port, pid

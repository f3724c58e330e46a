"""REST: the service against its framework, one call a request, and read-then-lock."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from bench.harness import load
from bench.harness.conditions import conditions
from bench.harness.database import Database, database, work_dir
from bench.harness.load import Load
from bench.harness.measure import Contender, Results, interleave
from bench.harness.options import Options, parse
from bench.harness.report import Ratio, heading, measurements, ratios, table
from bench.harness.seed import seed
from bench.harness.servers import Server, bare, preauth, reference
from bench.harness.tools import need
from bench.harness.tree import Memory, memory_of
from bench.reference import FLOOR

HOT = Load()
WIDE = Load(account="a", accounts=10_000)
LOADS = {
    "Preauth, hot": ("preauth", HOT),
    "bare no-op": ("bare", HOT),
    "no-op, the service's models": ("noop", HOT),
    "no-op, msgspec structs": ("noop_structs", HOT),
    "one call a request, hot": ("one_call", HOT),
    "read-then-lock, hot": ("read_then_lock", HOT),
    "Preauth, 10,000 accounts": ("preauth", WIDE),
    "one call a request, 10,000 accounts": ("one_call", WIDE),
    "read-then-lock, 10,000 accounts": ("read_then_lock", WIDE),
    "Preauth, three levels, hot": ("preauth", Load(account="leaf")),
    "Preauth, three levels, 10,000 users, 100 teams": (
        "preauth", Load(account="u", accounts=10_000),
    ),
    "Preauth, hot, arrays of 64 from 4 clients": ("preauth", Load(clients=4, batch=64)),
}  # fmt: skip
NOOP, ONE = "no-op, the service's models", "one call a request, hot"
BARE = "bare no-op"
US, US_WIDE = "Preauth, hot", "Preauth, 10,000 accounts"
RATIOS = [
    Ratio("hot ÷ read-then-lock", US, "read-then-lock, hot", 12, 20),
    Ratio("10,000 accounts ÷ read-then-lock", US_WIDE, "read-then-lock, 10,000 accounts", 5, 8),
    Ratio("hot ÷ one call a request", US, ONE, 6, 12),
    Ratio("hot ÷ the framework's no-op", US, NOOP, 1.0, 1.5),
    Ratio("hot ÷ its no-op with msgspec structs", US, "no-op, msgspec structs"),
    Ratio("p99, hot ÷ one call a request", US, ONE, 0.2, 0.1, "p99_ms", at_most=True),
    Ratio("10,000 accounts ÷ one call a request", US_WIDE, "one call a request, 10,000 accounts"),
    Ratio("three levels ÷ one, hot", "Preauth, three levels, hot", US, 0.6, 0.8),
    Ratio("three levels ÷ one, 10,000 accounts",
          "Preauth, three levels, 10,000 users, 100 teams", US_WIDE),
    Ratio("bare no-op ÷ read-then-lock, hot", BARE, "read-then-lock, hot"),
    Ratio("bare no-op ÷ read-then-lock, 10,000 accounts", BARE, "read-then-lock, 10,000 accounts"),
]  # fmt: skip


def contenders(servers: Mapping[str, Server]) -> list[Contender]:
    return [
        Contender(name, partial(load.run, servers[server], wanted))
        for name, (server, wanted) in LOADS.items()
    ]


def start(made: Database, stack: ExitStack) -> dict[str, Server]:
    """All of them; each idles while another is measured."""
    directory = stack.enter_context(work_dir())
    servers = {
        "preauth": stack.enter_context(preauth(made, directory)),
        "bare": stack.enter_context(bare(made, directory)),
    }
    for name in ("noop", "noop_structs", "one_call", "read_then_lock"):
        app = reference(f"bench.reference.{name}", made, directory)
        servers[name] = stack.enter_context(app)
    return servers


def measure(options: Options) -> tuple[Results, str, dict[str, Memory]]:
    with ExitStack() as stack:
        made = stack.enter_context(database())
        made.execute(FLOOR.read_text())
        seed(made)
        servers = start(made, stack)
        told = conditions(made, options, "wrk with one thread, 64 clients, one worker each")
        results = interleave(contenders(servers), options)
        used = {"Preauth, one worker": memory_of(servers["preauth"].pid)}
        used["PostgreSQL"] = memory_of(made.pid)
        return results, f"{told} {made.mismatches()}.", used


def main() -> None:
    options, _ = parse(__doc__)
    if not need("wrk", "wrk"):
        raise SystemExit(1)
    results, told, used = measure(options)
    heading("REST", told)
    measurements(results, "calls a second")
    ratios(results, RATIOS)
    rows = [
        [name, f"{m.processes}", f"{m.rss:,.0f}", f"{m.pss:,.0f}" if m.pss else ""]
        for name, m in used.items()
    ]
    table(["memory after the run", "processes", "RSS MiB", "PSS MiB"], rows)


if __name__ == "__main__":
    main()

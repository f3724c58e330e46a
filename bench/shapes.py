"""REST by shape: clients, accounts, shared levels, budgets."""

from bench.harness import load
from bench.harness.conditions import conditions
from bench.harness.database import database, work_dir
from bench.harness.load import Load
from bench.harness.measure import Contender, Results, interleave
from bench.harness.options import Options, parse
from bench.harness.report import Ratio, heading, measurements, ratios
from bench.harness.seed import seed
from bench.harness.servers import Server, preauth
from bench.harness.tools import need

CLIENTS = (1, 4, 16, 64, 256)
SHAPES = {
    "one hot account": ("hot", 0),
    "10,000 accounts": ("a", 10_000),
    "three levels, hot": ("leaf", 0),
    "three levels, 10,000 users": ("u", 10_000),
}
BUDGETS = (2, 3, 4)

LOADS = {
    f"{shape}, {clients} clients": Load(clients, account, accounts)
    for shape, (account, accounts) in SHAPES.items()
    for clients in CLIENTS
} | {f"{n} budgets, hot, 64 clients": Load(account=f"hot-{n}") for n in BUDGETS}

RATIOS = [
    *(Ratio(f"{shape}: 64 clients ÷ 1", f"{shape}, 64 clients", f"{shape}, 1 clients")
      for shape in SHAPES),
    *(Ratio(f"{n} budgets ÷ one", f"{n} budgets, hot, 64 clients", "one hot account, 64 clients")
      for n in BUDGETS),
]  # fmt: skip


def contenders(server: Server) -> list[Contender]:
    return [
        Contender(name, lambda seconds, wanted=wanted: load.run(server, wanted, seconds))
        for name, wanted in LOADS.items()
    ]


def measure(options: Options) -> tuple[Results, str]:
    with database() as made, work_dir() as directory:
        seed(made)
        with preauth(made, directory) as server:
            told = conditions(made, options, "wrk with one thread, one worker")
            results = interleave(contenders(server), options)
        return results, f"{told} {made.mismatches()}."


def main() -> None:
    options, _ = parse(__doc__)
    if not need("wrk", "wrk"):
        raise SystemExit(1)
    results, told = measure(options)
    heading("REST by shape", told)
    measurements(results, "reserves a second")
    ratios(results, RATIOS)


if __name__ == "__main__":
    main()

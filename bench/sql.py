"""SQL alone, with pgbench: the ledger's functions against the least that PostgreSQL must do."""

from bench.harness.conditions import conditions
from bench.harness.database import Database, database
from bench.harness.measure import Contender, Results, interleave
from bench.harness.options import Options, parse
from bench.harness.pgbench import SAME_IDS, Script, batch, ids, run
from bench.harness.report import Ratio, heading, measurements, ratios
from bench.harness.seed import AMOUNT, AMOUNTS, LIMIT, seed
from bench.reference import FLOOR, ROWS

KEY = "\\set k random(1, 9000000000000000000)\n"
SPREAD = KEY + "\\set i random(1, 10000)\n"
VALUES = {"amounts": AMOUNTS}
MANY = (
    KEY + "select status, headers, body, root from"
    " preauth_api.reserve_many(replace(:items, '~', :k)::jsonb, null, null);"
)
ROWS_MANY = KEY + f"select bench.rows_many(replace(:ids, '~', :k)::text[], 'hot', {AMOUNT});"
TRANSACTION = (
    KEY
    + f"""begin;
select limit_amount - reserved from bench.balance where account_id = 'hot' for update;
update bench.balance set reserved = reserved + {AMOUNT} where account_id = 'hot';
insert into bench.hold (request_id, account_id, amount) values (:k, 'hot', {AMOUNT});
commit;
"""
)


def call(function: str, account: str = "'hot'") -> str:
    return f"select bench.{function}(:k, {account}, {AMOUNT});"


def reserve(account: str = "'hot'") -> str:
    return f"select preauth_api.reserve(:k, {account}, :amounts);"


SCRIPTS = {
    "floor, 1 client": Script(KEY + call("floor"), 1),
    "a reserve's rows alone, 1 client": Script(KEY + call("rows"), 1),
    "reserve, 1 client": Script(KEY + reserve(), 1, values=VALUES),
    "floor, 8 clients, hot": Script(KEY + call("floor"), 8),
    "SELECT FOR UPDATE in a function, 8 hot": Script(KEY + call("read_then_lock"), 8),
    "SELECT FOR UPDATE, five statements, 8 hot": Script(TRANSACTION, 8),
    "a reserve's rows alone, 8 hot": Script(KEY + call("rows"), 8),
    "reserve, 8 hot": Script(KEY + reserve(), 8, values=VALUES),
    "a reserve's rows alone, by 64, 8 hot": Script(ROWS_MANY, 8, 64, ids(64)),
    "a reserve's rows alone, by 256, 8 hot": Script(ROWS_MANY, 8, 256, ids(256)),
    "reserve_many by 64, 8 hot": Script(MANY, 8, 64, batch(64)),
    "the same, all denied": Script(MANY, 8, 64, batch(64, amount=LIMIT + 1)),
    "the same, all sent before": Script(MANY, 8, 64, batch(64, SAME_IDS)),
    "reserve_many by 256, 8 hot": Script(MANY, 8, 256, batch(256)),
    "floor, 32 clients, 10,000 accounts": Script(SPREAD + call("floor", "'a' || :i::text"), 32),
    "a reserve's rows alone, 32, 10,000 accounts": Script(
        SPREAD + call("rows", "'a' || :i::text"), 32
    ),
    "reserve, 32, 10,000 accounts": Script(SPREAD + reserve("'a' || :i::text"), 32, values=VALUES),
}

ONE, HOT, WIDE = "floor, 1 client", "floor, 8 clients, hot", "floor, 32 clients, 10,000 accounts"
RATIOS = [
    Ratio("reserve ÷ floor, 1 client", "reserve, 1 client", ONE, 0.70, 0.80),
    Ratio("reserve ÷ floor, 8 hot", "reserve, 8 hot", HOT, 0.75, 0.85),
    Ratio("reserve ÷ floor, 32 spread", "reserve, 32, 10,000 accounts", WIDE, 0.45, 0.65),
    Ratio("reserve_many by 64 ÷ floor, 8 hot", "reserve_many by 64, 8 hot", HOT, 11, 17),
    Ratio("reserve_many by 256 ÷ floor, 8 hot", "reserve_many by 256, 8 hot", HOT, 18, 25),
    Ratio("all denied ÷ authorized, by 64", "the same, all denied", "reserve_many by 64, 8 hot"),
    Ratio("all sent before ÷ new, by 64",
          "the same, all sent before", "reserve_many by 64, 8 hot"),
    Ratio("a reserve's rows alone ÷ floor, 1 client", "a reserve's rows alone, 1 client", ONE),
    Ratio("a reserve's rows alone ÷ floor, 8 hot", "a reserve's rows alone, 8 hot", HOT),
    Ratio("a reserve's rows alone, by 64 ÷ floor, 8 hot",
          "a reserve's rows alone, by 64, 8 hot", HOT),
    Ratio("a reserve's rows alone, by 256 ÷ floor, 8 hot",
          "a reserve's rows alone, by 256, 8 hot", HOT),
    Ratio("a reserve's rows alone ÷ floor, 32 spread",
          "a reserve's rows alone, 32, 10,000 accounts", WIDE),
    Ratio("reserve ÷ SELECT FOR UPDATE in a function, 8 hot",
          "reserve, 8 hot", "SELECT FOR UPDATE in a function, 8 hot"),
    Ratio("reserve ÷ SELECT FOR UPDATE, five statements, 8 hot",
          "reserve, 8 hot", "SELECT FOR UPDATE, five statements, 8 hot"),
]  # fmt: skip


def contenders(made: Database) -> list[Contender]:
    return [
        Contender(name, lambda seconds, script=script: run(script, made, seconds))
        for name, script in SCRIPTS.items()
    ]


def measure(options: Options) -> tuple[Results, str]:
    with database() as made:
        made.execute(FLOOR.read_text())
        seed(made)
        made.execute(ROWS.read_text())
        told = conditions(made, options, "pgbench -M prepared, one thread, random ids")
        return interleave(contenders(made), options), told


def main() -> None:
    options, _ = parse(__doc__)
    results, told = measure(options)
    heading("SQL alone", told)
    measurements(results, "a second (items of a batch each)")
    ratios(results, RATIOS)


if __name__ == "__main__":
    main()

"""What pricing adds to a reserve: by max_usage and a price table, against by amounts."""

import json

from bench.harness.conditions import conditions
from bench.harness.database import Database, database
from bench.harness.measure import Contender, Results, interleave
from bench.harness.options import Options, parse
from bench.harness.pgbench import Script, run
from bench.harness.report import Ratio, heading, measurements, ratios
from bench.harness.seed import TTL_SECONDS, seed

MODEL = "acme/chat-1"
KEY = "\\set k random(1, 9000000000000000000)\n"
BOUNDS = {"prompt_tokens": 3000, "completion_tokens": 500}
CEILING = 3000 * 3750 + 500 * 15000
RATES = {
    "input_tokens": 3_000_000,
    "cached_input_tokens": 300_000,
    "cache_write_tokens": 3_750_000,
    "output_tokens": 15_000_000,
    "reasoning_tokens": 15_000_000,
}
UNPRICED = {"amounts": {"usd_nano": CEILING}}
PRICED = {"max_usage": BOUNDS}
MANY = (
    KEY + "select status, headers, body, root from"
    " preauth_api.reserve_many(replace(:items, '~', :k)::jsonb, null, null);"
)
VERSIONS = 50
OTHER_MODELS = 2000


def items(count: int, asked: dict[str, object]) -> dict[str, str]:
    """Bodies that differ in nothing but how they say what they ask for."""
    bodies = [
        {
            "request_id": f"{n}~",
            "account_id": "hot",
            "model": MODEL,
            **asked,
            "ttl_seconds": TTL_SECONDS,
        }
        for n in range(count)
    ]
    return {"items": json.dumps(bodies, separators=(",", ":"))}


SCRIPTS = {
    f"{name}, {said}": Script(MANY, clients, count, items(count, asked))
    for said, clients, count in [
        ("1 client", 1, 1),
        ("8 clients", 8, 1),
        ("by 64, 1 client", 1, 64),
        ("by 64, 8 clients", 8, 64),
    ]
    for name, asked in [("amounts", UNPRICED), ("max_usage", PRICED)]
}
RATIOS = [
    Ratio(f"priced ÷ unpriced, {said}", f"max_usage, {said}", f"amounts, {said}", 0.91)
    for said in ("1 client", "8 clients", "by 64, 1 client", "by 64, 8 clients")
]
"""Less than a tenth more time for each is at least 0.91 as many a second."""


def publish(made: Database) -> None:
    """A model with many earlier versions, among many other models."""
    rates = {name: {"micro_usd": rate, "per": 1_000_000} for name, rate in RATES.items()}
    with made.connect() as connection:
        for age in range(VERSIONS, 0, -1):
            body = {
                "model": MODEL,
                "rates": rates,
                "effective_from": f"{2026 - age}-01-01T00:00:00Z",
            }
            connection.execute("select preauth_api.publish_price_table(%s)", [json.dumps(body)])
        for number in range(OTHER_MODELS):
            body = {"model": f"acme/other-{number}", "rates": rates}
            connection.execute("select preauth_api.publish_price_table(%s)", [json.dumps(body)])
    made.execute("vacuum analyze")


def contenders(made: Database) -> list[Contender]:
    return [
        Contender(name, lambda seconds, script=script: run(script, made, seconds))
        for name, script in SCRIPTS.items()
    ]


def measure(options: Options) -> tuple[Results, str]:
    with database() as made:
        seed(made)
        publish(made)
        told = conditions(made, options, "pgbench -M prepared, one thread, one account, random ids")
        return interleave(contenders(made), options), told


def main() -> None:
    options, _ = parse(__doc__)
    results, told = measure(options)
    heading("Prices", told)
    measurements(results, "a second (items of a batch each)")
    ratios(results, RATIOS)


if __name__ == "__main__":
    main()

"""Every price of genai-prices published in one ledger: what its functions compute is exact."""

import math
import random
from datetime import datetime

import psycopg
import pytest
from psycopg.types.json import Jsonb

from service.pricing.difference import changes
from service.pricing.publishing import publish
from service.pricing.tables import Catalogue
from service.store import call
from tests.pricing.prices import ALL, INPUT_SIDE, NOW, SEED, our_cost, usages
from tests.support import databases

pytestmark = pytest.mark.slow

PRICE = """select (preauth._price(t, u.counts, false)).amount
from unnest(preauth._tariffs_of(array[%s::bigint])) as t,
  jsonb_array_elements(%s) with ordinality as u (counts, place) order by u.place"""


@pytest.fixture(scope="module")
def everything(cluster):
    """A ledger with the whole catalogue in it, and the published tables by name and start."""
    template = databases.template(cluster, databases.DEFAULT_SCHEMA)
    with databases.temporary(cluster, template) as url, psycopg.connect(url) as connection:
        found = Catalogue([table for table, _ in ALL])
        publish(connection, changes(found, [], NOW))
        yield connection, found
        connection.commit()
        assert databases.mismatches(url) == []


def test_every_cost_in_sql_is_the_exact_cost_rounded_up_once(everything):
    connection, found = everything
    rows = call(connection, "price_tables")
    published = [row for row in rows if row["alias_of"] is None]
    assert len(published) == len(found.tables)
    ids = {(row["name"], _start(row, found)): row["price_table_id"] for row in published}
    rng = random.Random(SEED)
    for table in found.tables:
        tried = list(usages(table, rng))
        price_table_id = ids[table.name, table.effective_from]
        amounts = [
            amount for (amount,) in connection.execute(PRICE, [price_table_id, Jsonb(tried)])
        ]
        exact = [our_cost(table, _counted(table, usage)) for usage in tried]
        assert amounts == [math.ceil(cost * 10**9) for cost in exact], table


def _start(row, found):
    """From when a table is in effect, where that is a date of the list and not now."""
    start = datetime.fromisoformat(row["effective_from"])
    return start if start in {table.effective_from for table in found.tables} else None


def _counted(table, usage):
    """A call is one request where that has a price, unless the usage says otherwise."""
    return {"requests": 1, **usage} if "requests" in table.tiers[0].rates else usage


def test_every_settled_cost_is_exact_and_no_ceiling_is_below_it(everything):
    connection, found = everything
    budget = {"unit": "usd_nano", "window": {"kind": "lifetime"}, "limit_amount": None}
    call(connection, "put_account", account_id="a", body={})
    call(connection, "put_budget", account_id="a", name="usd", body=budget)
    rng = random.Random(SEED)
    asked = [
        (table, _some_usage(table, rng)) for table in found.tables if table.effective_from is None
    ]
    for start in range(0, len(asked), 200):
        _reserve_and_settle(connection, asked[start : start + 200], start, rng)


def _reserve_and_settle(connection, asked, start, rng):
    reservations = [
        {"request_id": f"r{n}", "account_id": "a", "model": t.name, "max_usage": _bounds(t, u, rng)}
        for n, (t, u) in enumerate(asked, start)
    ]
    held = _many(connection, "reserve", reservations)
    usages = [{"request_id": f"r{n}", "usage": u} for n, (_, u) in enumerate(asked, start)]
    settled = _many(connection, "settle", usages)
    for (table, usage), hold, settlement in zip(asked, held, settled, strict=True):
        cost = math.ceil(our_cost(table, _counted(table, usage)) * 10**9)
        assert settlement["amounts"]["usd_nano"] == cost, (table, usage)
        assert sum(settlement["cost"]["usd_nano"].values()) == cost
        assert hold["lines"][0]["amount"] >= cost
        assert settlement["overage"] == {}


def _many(connection, name, items):
    rows = connection.execute(
        f"select status, body from preauth_api.{name}_many(%s, null, null) order by n",
        [Jsonb(items)],
    ).fetchall()
    assert {status for status, _ in rows} == {200}, [b for status, b in rows if status != 200][:3]
    return [body for _, body in rows]


def _some_usage(table, rng):
    names = sorted(table.tiers[0].rates)
    some = rng.sample(names, rng.randint(1, len(names)))
    return {
        name: rng.randrange(10 ** rng.randint(1, 6)) for name in some if name != "requests"
    } or {names[0]: 1}


def _bounds(table, usage, rng):
    """Upper bounds of a usage: by dimension, or by the two that stand for any kind."""
    slack = rng.choice([0, 0, 1, 1000])
    bounds = {name: count + slack for name, count in usage.items()}
    if rng.random() < 0.5:
        wholes = {
            "prompt_tokens": INPUT_SIDE,
            "completion_tokens": {"output_tokens", "reasoning_tokens"},
        }
        for whole, parts in wholes.items():
            if parts & table.tiers[0].rates.keys():
                bounds[whole] = sum(bounds.pop(name) for name in parts & bounds.keys())
        return bounds
    required = {"input_tokens", "output_tokens"} & table.tiers[0].rates.keys()
    return {**dict.fromkeys(required, 0), **bounds}


def test_what_is_published_is_no_change_any_more(everything):
    connection, found = everything
    dated = {table.name for table in found.tables if table.effective_from is not None}
    undated = Catalogue([table for table in found.tables if table.name not in dated])
    assert len(undated.tables) > 2000
    assert list(changes(undated, call(connection, "price_tables"))) == []

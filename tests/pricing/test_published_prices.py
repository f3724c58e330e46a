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
from tests.pricing.prices import ALL, NOW, SEED, our_cost, usages
from tests.support import databases

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


def test_what_is_published_is_no_change_any_more(everything):
    connection, found = everything
    dated = {table.name for table in found.tables if table.effective_from is not None}
    undated = Catalogue([table for table in found.tables if table.name not in dated])
    assert len(undated.tables) > 2000
    assert list(changes(undated, call(connection, "price_tables"))) == []

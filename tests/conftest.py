"""One PostgreSQL cluster for the whole run, one database per test, and ``verify()`` at its end.

With xdist the controller starts the cluster and tells its workers where it is, so that there is
one however many workers run. ``PREAUTH_TEST_PG_BIN`` names a directory of PostgreSQL binaries to
use instead of the embedded 18; ``PREAUTH_TEST_SCHEMA=head`` clones the databases from alembic's
head instead of ``sql/`` (tests/schema proves that they are equal). ``PREAUTH_TEST_CLUSTER`` is the
URL of a cluster that runs already, and ``PREAUTH_TEST_SQL`` a folder to take for ``sql/``.

What Hypothesis draws is the same in every run, but where ``PREAUTH_TEST_SEQUENCES`` or
``PREAUTH_TEST_EXAMPLES`` (the nightly settings) ask for more.
"""

import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import hypothesis
import pytest

from tests.support import databases
from tests.support.clock import Clock
from tests.support.cluster import Cluster
from tests.support.ledger import Ledger

CLUSTER = pytest.StashKey[Cluster]()

NIGHTLY = {"PREAUTH_TEST_SEQUENCES", "PREAUTH_TEST_EXAMPLES"} & os.environ.keys()
hypothesis.settings.register_profile("preauth", derandomize=not NIGHTLY)
hypothesis.settings.load_profile("preauth")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tampered: the test corrupts rows: verify() may complain")
    config.addinivalue_line("markers", "schema(name): clone from that template: sql or head")


def cluster_of(config: pytest.Config) -> Cluster:
    """The run's cluster, started at first need."""
    if CLUSTER not in config.stash:
        shared = os.environ.get("PREAUTH_TEST_CLUSTER")
        config.stash[CLUSTER] = Cluster(shared) if shared else Cluster.start()
    return config.stash[CLUSTER]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["cluster"] = cluster_of(node.config).location


def pytest_unconfigure(config: pytest.Config) -> None:
    if CLUSTER in config.stash:
        config.stash[CLUSTER].stop()
        del config.stash[CLUSTER]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """The PostgreSQL cluster of this run."""
    shared = getattr(request.config, "workerinput", {}).get("cluster")
    return Cluster(**shared) if shared else cluster_of(request.config)


@pytest.fixture
def empty_database_url(cluster: Cluster) -> Iterator[str]:
    """A database with nothing in it."""
    with databases.temporary(cluster) as url:
        yield url


@pytest.fixture
def database_url(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[str]:
    """A fresh database with the ledger in it; at the end, ``verify()`` finds nothing amiss."""
    wanted = request.node.get_closest_marker("schema")
    template = databases.template(cluster, wanted.args[0] if wanted else databases.DEFAULT_SCHEMA)
    with databases.temporary(cluster, template) as url:
        yield url
        if request.node.get_closest_marker("tampered") is None:
            assert databases.mismatches(url) == []


@pytest.fixture
def clock(database_url: str) -> Iterator[Clock]:
    """Time stands at Monday 14 September 2026, 12:00 UTC, until the test moves it."""
    clock = Clock(database_url)
    yield clock
    clock.close()


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    """A connection to the ledger that can open more of its kind."""
    ledger = await Ledger.start(database_url)
    yield ledger
    await ledger.stop()

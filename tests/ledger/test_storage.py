"""PostgreSQL may not let a file grow, which it has no SQLSTATE for: the store is unavailable."""

import asyncpg
import pytest

from service.ledger.errors import LedgerFault, StoreUnavailable, classify
from tests.support.small_disk import limit_files

A_WAL_SEGMENT = str(16 * 2**20)
"""What it must be able to write, or all of it ends."""

LARGER = "select n, repeat('x', 1000) as filling from generate_series(1, 40000) as n"


@pytest.mark.parametrize(
    "statement",
    [f"create temporary table too_large as {LARGER}", f"{LARGER} order by n desc offset 40000"],
    ids=["of a table", "of a sort"],
)
async def test_a_file_that_may_not_grow_is_told_from_a_bug(empty_database_url, statement):
    connection = await asyncpg.connect(empty_database_url)
    limit_files(connection.get_server_pid(), A_WAL_SEGMENT)
    with pytest.raises(asyncpg.InternalServerError) as caught:
        await connection.fetch(statement)
    await connection.close()
    failure = classify(caught.value)
    assert isinstance(failure.error, StoreUnavailable)
    assert (failure.error.cause, failure.rolled_back, failure.lost) == ("rejected", False, False)


async def test_any_other_internal_error_is_a_bug(empty_database_url):
    connection = await asyncpg.connect(empty_database_url)
    with pytest.raises(asyncpg.InternalServerError) as caught:
        await connection.fetch("do $$ begin raise 'x' using errcode = 'XX000'; end $$")
    await connection.close()
    assert type(classify(caught.value).error) is LedgerFault


def test_a_server_that_ends_because_of_one_may_have_committed_before():
    error = asyncpg.InternalServerError("could not write to log file")
    error.severity_en = "PANIC"
    failure = classify(error)
    assert isinstance(failure.error, StoreUnavailable)
    assert (failure.error.cause, failure.lost) == ("lost", True)

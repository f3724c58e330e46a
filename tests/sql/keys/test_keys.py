"""API keys: only a hash is stored, and it is never shown."""

import hashlib

import pytest

from tests.support.checks import assert_problem

HASH = hashlib.sha256(b"secret").digest()


async def create(ledger, name="ci", role="spend", key_hash=HASH, **more):
    return await ledger.call("create_key", name=name, role=role, key_hash=key_hash, **more)


async def find(ledger, key_hash=HASH):
    return await ledger.call("key_by_hash", key_hash=key_hash)


@pytest.mark.parametrize("role", ["spend", "audit", "admin"])
async def test_a_key_is_found_by_its_hash(ledger, clock, role):
    made = await create(ledger, role=role)
    assert {k: made[k] for k in ("name", "role", "account_id")} == {
        "name": "ci", "role": role, "account_id": None,
    }  # fmt: skip
    assert await find(ledger) == {"key_id": made["key_id"], "role": role, "account_id": None}


async def test_an_unknown_hash_is_null(ledger, clock):
    assert await find(ledger) is None


async def test_a_revoked_key_is_not_found_again(ledger, clock):
    made = await create(ledger)
    await ledger.call("revoke_key", key_id=made["key_id"])
    assert await find(ledger) is None


async def test_a_spend_key_may_be_bound_to_a_subtree(ledger, clock):
    await ledger.put_account("team")
    await create(ledger, account_id="team")
    assert (await find(ledger))["account_id"] == "team"


async def test_keys_are_listed_without_any_hash(ledger, clock):
    await create(ledger)
    await create(ledger, name="other", key_hash=hashlib.sha256(b"other").digest())
    listed = await ledger.call("keys")
    assert {key["name"] for key in listed} == {"ci", "other"}
    assert HASH.hex() not in str(listed)
    assert all("hash" not in member for key in listed for member in key)


async def test_no_change_log_entry_holds_a_hash(ledger, clock):
    made = await create(ledger)
    await ledger.call("revoke_key", key_id=made["key_id"])
    rows = await ledger.connection.fetch("select t::text from preauth.change_log t")
    assert len(rows) == 2
    assert all(HASH.hex() not in row[0] and "hash" not in row[0] for row in rows)


async def test_two_keys_have_two_ids(ledger, clock):
    first = await create(ledger)
    second = await create(ledger, key_hash=hashlib.sha256(b"other").digest())
    assert first["key_id"] != second["key_id"]


@pytest.mark.parametrize(
    "wrong",
    [{"role": "root"}, {"name": ""}, {"key_hash": b"short"}, {"role": "admin", "account_id": "a"}],
    ids=str,
)
async def test_a_malformed_key_is_refused_and_nothing_is_written(ledger, clock, wrong):
    await ledger.put_account("a")
    before = await ledger.contents()
    assert_problem(await create(ledger, **wrong), 400, "malformed")
    assert await ledger.contents() == before


async def test_revoking_what_is_not_there_is_a_404(ledger, clock):
    assert (await ledger.call("revoke_key", key_id="nope"))["status"] == 404


async def test_a_hash_of_another_key_is_refused_and_nothing_is_written(ledger, clock):
    await create(ledger)
    before = await ledger.contents()
    reply = await create(ledger, role="audit")
    assert_problem(reply, 400, "malformed")
    assert reply["errors"] == [{"path": "key_hash", "message": "is of another key"}]
    assert await ledger.contents() == before


async def test_a_key_for_the_subtree_of_an_account_that_is_not_there_is_refused(ledger, clock):
    before = await ledger.contents()
    reply = await create(ledger, account_id="nobody")
    assert_problem(reply, 422, "reference_unknown")
    assert await ledger.contents() == before

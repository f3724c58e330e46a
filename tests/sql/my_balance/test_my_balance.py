"""What a signed-in user sees of the account that their JWT names."""

import pytest

from tests.support.checks import assert_problem
from tests.support.money import tokens
from tests.support.signed_in import signed_in


@pytest.fixture(autouse=True)
async def accounts(ledger):
    """ann and bob below org, which has a budget of its own."""
    await ledger.grant("org", 5000, name="shared")
    for name in ("ann", "bob"):
        await ledger.put_account(name, parent_id="org")
        await ledger.grant(name, 1000)
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.reserve("r2", "bob", tokens(300))


async def test_it_is_the_balance_of_the_account_in_the_sub_claim(ledger):
    user = await signed_in(ledger, {"sub": "ann", "role": "authenticated"})

    found = await user.call("my_balance")

    assert found["account_id"] == "ann"
    own, shared = found["windows"]
    assert (own["scope"], own["reserved"], own["available"]) == ("ann", 400, 600)
    assert (shared["scope"], shared["limit"]) == ("org", 5000)
    assert not {"settled", "reserved", "available"} & set(shared)


async def test_a_setting_says_which_claim_names_the_account(ledger):
    claims = {"sub": "4711", "app_metadata": {"account_id": "bob"}}
    user = await signed_in(ledger, claims, **{"preauth.account_claim": "app_metadata.account_id"})
    assert (await user.call("my_balance"))["account_id"] == "bob"


async def test_a_claim_that_users_write_themselves_names_nobody(ledger):
    claims = {"sub": "bob", "user_metadata": {"account_id": "ann"}}
    user = await signed_in(ledger, claims, **{"preauth.account_claim": "user_metadata.account_id"})
    assert_problem(await user.call("my_balance"), 403, "forbidden")


@pytest.mark.parametrize(
    "claims", [{}, {"sub": None}, {"sub": 7}, {"sub": {"id": "ann"}}, [], None]
)
async def test_a_token_that_names_no_account_gets_nothing(ledger, claims):
    user = await signed_in(ledger, claims)
    assert_problem(await user.call("my_balance"), 403, "forbidden")


async def test_a_session_without_a_token_gets_nothing(ledger):
    user = await signed_in(ledger, {}, **{"request.jwt.claims": ""})
    assert_problem(await user.call("my_balance"), 403, "forbidden")


async def test_an_account_that_is_not_known_yet_is_a_404(ledger):
    user = await signed_in(ledger, {"sub": "nobody"})
    assert_problem(await user.call("my_balance"), 404, "account_unknown")

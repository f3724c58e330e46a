"""A price table is published once and never changes; a later one supersedes it."""

from datetime import datetime, timedelta

import pytest

from tests.support.checks import assert_problem
from tests.support.clock import NOON
from tests.support.prices import CHAT, MODEL, publish, rate, rates

MEMBERS = {
    "price_table_id", "name", "model", "variant", "unit", "effective_from", "alias_of", "rates", "tiers",
    "source", "aliases", "published_at", "published_by", "replayed",
}  # fmt: skip
DEAR = rates(input_tokens="6", cached_input_tokens="0.60", output_tokens="30")


async def versions(ledger, model=MODEL, at=None):
    return await ledger.call("price_tables", model=model, at=at)


async def test_it_answers_with_the_table_as_it_is_from_now_on(ledger, clock):
    reply = await publish(ledger, source="the price page of 2026-09-14")
    assert set(reply) == MEMBERS
    assert (reply["name"], reply["unit"], reply["variant"]) == (MODEL, "usd_nano", None)
    assert reply["effective_from"] == reply["published_at"] == "2026-09-14T12:00:00.000000Z"
    assert reply["source"] == "the price page of 2026-09-14"
    read = await ledger.call("price_table", price_table_id=reply["price_table_id"])
    assert {**read, "replayed": False} == reply


async def test_a_bound_is_required_of_what_costs_something_unless_it_is_said(ledger, clock):
    table = {
        "input_tokens": rate("0"),
        "cached_input_tokens": rate("1"),
        "output_tokens": rate("1"),
        "web_searches": rate("10", 1000, required=True),
        "reasoning_tokens": rate("1", required=False),
    }
    reply = await publish(ledger, rates=table)
    required = {name for name, found in reply["rates"].items() if found["required"]}
    assert required == {"output_tokens", "web_searches"}


async def test_the_same_content_again_is_the_same_table(ledger, clock):
    when = "2026-09-01T00:00:00+00:00"
    first = await publish(ledger, effective_from=when)
    before = await ledger.contents()
    again = await publish(ledger, effective_from=when, source="elsewhere")
    written_out = await publish(ledger, effective_from=when, rates=first["rates"])
    as_a_tier = await publish(
        ledger, effective_from=when, tiers=[{"above_input_tokens": 0, "rates": CHAT}]
    )
    assert again == written_out == as_a_tier == {**first, "replayed": True}
    assert await ledger.contents() == before


async def test_what_is_in_effect_already_need_not_be_published_again(ledger, clock):
    first = await publish(ledger)
    clock.advance(days=1)
    again = await publish(ledger)
    assert (again["price_table_id"], again["replayed"]) == (first["price_table_id"], True)
    assert len(await versions(ledger)) == 1


async def test_what_was_only_said_again_begins_no_table_that_others_could_contradict(ledger, clock):
    await publish(ledger)
    clock.advance(days=1)
    await publish(ledger)
    other = await publish(ledger, rates=DEAR)
    assert (other["effective_from"], other["replayed"]) == ("2026-09-15T12:00:00.000000Z", False)
    assert len(await versions(ledger)) == 2


async def test_other_rates_from_the_same_instant_are_a_conflict_and_nothing_is_written(
    ledger, clock
):
    await publish(ledger)
    before = await ledger.contents()
    reply = await publish(ledger, effective_from="2026-09-14T14:00:00+02:00", rates=DEAR)
    assert_problem(reply, 409, "price_table_conflict")
    assert await ledger.contents() == before


async def test_a_later_table_supersedes_and_a_future_one_takes_effect_by_itself(ledger, clock):
    first = await publish(ledger)
    later = await publish(ledger, effective_from="2026-10-01T00:00:00Z", rates=DEAR)
    in_effect = [await versions(ledger, at=clock.now), await versions(ledger, at=clock.set("2026-10-01T00:00:00Z"))]  # fmt: skip
    assert [[t["price_table_id"] for t in found] for found in in_effect] == [
        [first["price_table_id"]],
        [later["price_table_id"]],
    ]
    assert [t["price_table_id"] for t in await versions(ledger)] == [later["price_table_id"], first["price_table_id"]]  # fmt: skip


async def test_a_variant_and_another_unit_are_tables_of_their_own(ledger, clock):
    await publish(ledger)
    batch = await publish(ledger, variant="batch", rates=DEAR)
    other = await publish(
        ledger, unit="credits", rates={"output_tokens": {"amount": 3, "per": 1000}}
    )
    assert batch["name"] == f"{MODEL}:batch"
    assert other["rates"] == {"output_tokens": {"amount": 3, "per": 1000, "required": True}}
    assert len(await versions(ledger)) == 2
    assert len(await versions(ledger, None)) == 3


async def test_names_are_exact(ledger, clock):
    await publish(ledger, "acme/chat-1")
    for other in ("acme/chat", "chat-1", "ACME/chat-1", "acme/chat-1:batch"):
        assert await versions(ledger, other) == []


async def test_an_alias_is_a_row_that_names_its_table(ledger, clock):
    table = await publish(ledger, aliases=["chat-1", "chat-latest"])
    assert table["aliases"] == ["chat-1", "chat-latest"]
    (alias,) = await versions(ledger, "chat-1")
    assert (alias["alias_of"], alias["rates"], alias["tiers"]) == (MODEL, None, None)
    again = await publish(ledger, aliases=["chat-latest", "chat-2"])
    assert (again["aliases"], again["replayed"]) == (["chat-1", "chat-2", "chat-latest"], True)


async def test_an_alias_of_a_variant_has_the_variant_too(ledger, clock):
    await publish(ledger, variant="flex", aliases=["chat-1"])
    (alias,) = await versions(ledger, "chat-1:flex")
    assert alias["alias_of"] == f"{MODEL}:flex"


async def test_an_alias_that_already_is_something_is_a_conflict(ledger, clock):
    await publish(ledger, aliases=["chat-1"])
    await publish(ledger, "other/chat")
    before = await ledger.contents()
    for alias in ("chat-1", "other/chat", MODEL):
        reply = await publish(ledger, "third/chat", aliases=[alias])
        assert_problem(reply, 409, "price_table_conflict")
        assert reply["name"] == alias
    assert await ledger.contents() == before


@pytest.mark.parametrize("later", [0, 5])
async def test_what_is_an_alias_from_then_on_or_later_has_no_aliases(ledger, clock, later):
    when = clock.now + timedelta(days=later)
    await publish(ledger, "other/chat", effective_from=when.isoformat(), aliases=[MODEL])
    before = await ledger.contents()
    reply = await publish(ledger, effective_from=NOON.isoformat(), aliases=["chat-1"])
    assert_problem(reply, 409, "price_table_conflict")
    assert reply["name"] == MODEL
    assert await ledger.contents() == before


async def test_what_was_an_alias_until_it_got_rates_may_have_aliases(ledger, clock):
    await publish(ledger, "other/chat", aliases=[MODEL])
    clock.advance(days=1)
    table = await publish(ledger, aliases=["chat-1"])
    assert table["aliases"] == ["chat-1"]


INSTANTS = {
    "9999-12-31T23:59:59-14:00": False,
    "9999-12-31T23:59:59Z": True,
    "9999-12-31T23:59:59.999999999Z": False,
    "0001-01-01T00:00:00+14:00": False,
    "0001-01-01T00:00:00Z": True,
}


@pytest.mark.parametrize(("instant", "good"), INSTANTS.items())
async def test_an_instant_has_a_year_of_four_digits_in_utc_too(ledger, clock, instant, good):
    reply = await publish(ledger, effective_from=instant)
    if good:
        assert datetime.fromisoformat(reply["effective_from"]) == datetime.fromisoformat(instant)
    else:
        assert_problem(reply, 400, "malformed")
        assert [error["path"] for error in reply["errors"]] == ["effective_from"]


async def test_an_alias_can_be_turned_to_another_model_later(ledger, clock):
    await publish(ledger, aliases=["latest"])
    clock.advance(days=1)
    await publish(ledger, "acme/chat-2", aliases=["latest"])
    (alias,) = await versions(ledger, "latest", clock.now)
    assert alias["alias_of"] == "acme/chat-2"


async def test_every_publication_is_recorded_with_who_what_was_before_and_why(ledger, clock):
    first = await publish(ledger)
    clock.advance(days=1)
    body = {"model": MODEL, "rates": DEAR, "reason": "the provider raised it"}
    second = await ledger.call("publish_price_table", body=body, actor="key_carla")
    row = await ledger.connection.fetchrow(
        "select * from preauth.change_log where subject = 'price_table' and actor = 'key_carla'"
    )
    assert row["subject_id"] == MODEL
    assert row["reason"] == "the provider raised it"
    assert row["before"]["price_table_id"] == first["price_table_id"]
    assert row["after"]["price_table_id"] == second["price_table_id"]


async def test_of_many_who_publish_the_same_at_once_one_writes(ledger):
    calls = [lambda s: publish(s, effective_from="2026-09-01T00:00:00Z", aliases=["a"])] * 8
    replies = await ledger.race(calls)
    assert sorted(r["replayed"] for r in replies) == [False] + [True] * 7
    assert len({r["price_table_id"] for r in replies}) == 1
    assert await ledger.count("price_table") == 2


def tier(above, table=CHAT):
    return {"above_input_tokens": above, "rates": table}


async def test_the_first_and_the_last_instant_can_be_told(ledger, clock):
    for told, first in (("0001-01-01T00:01:00+00:01", "0001-01-01T00:00:00.000000Z"),
                        ("9999-12-31T23:58:59.999999-00:01", "9999-12-31T23:59:59.999999Z")):  # fmt: skip
        reply = await publish(ledger, effective_from=told)
        assert reply["effective_from"] == first


BAD = {
    "no model": ({"model": None}, "model"),
    "a model with a space": ({"model": "a b"}, "model"),
    "a model that ends like a variant": ({"model": "m:batch"}, "model"),
    "a model that is too long with its variant": ({"model": "m" * 125, "variant": "flex"}, "model"),
    "another variant": ({"variant": "fast"}, "variant"),
    "a unit that is counted, not priced": ({"unit": "tokens"}, "unit"),
    "a unit in capitals": ({"unit": "USD"}, "unit"),
    "a time without offset": ({"effective_from": "2026-09-14T12:00:00"}, "effective_from"),
    "a day that is not": ({"effective_from": "2026-02-30T12:00:00Z"}, "effective_from"),
    "an hour that is not": ({"effective_from": "2026-02-20T25:00:00Z"}, "effective_from"),
    "an offset that is not": ({"effective_from": "2026-02-20T12:00:00+99:00"}, "effective_from"),
    "after the year 9999 in UTC": ({"effective_from": "9999-12-31T23:59:59-00:01"}, "effective_from"),
    "after the year 9999 when rounded": ({"effective_from": "9999-12-31T23:59:59.9999999Z"}, "effective_from"),
    "before the year 1 in UTC": ({"effective_from": "0001-01-01T00:00:00+00:01"}, "effective_from"),
    "infinity": ({"effective_from": "infinity"}, "effective_from"),
    "a number as time": ({"effective_from": 1789387200}, "effective_from"),
    "no rate at all": ({"rates": {}}, "rates"),
    "no rates": ({"rates": None}, "rates"),
    "both rates and tiers": ({"tiers": [tier(0)]}, "tiers"),
    "rates as a list": ({"rates": [CHAT]}, "rates"),
    "an unknown dimension": ({"rates": {"thoughts": rate("1")}}, "rates.thoughts"),
    "a stand-in for any kind": ({"rates": {"prompt_tokens": rate("1")}}, "rates.prompt_tokens"),
    "a negative rate": ({"rates": {"input_tokens": {"micro_usd": -1, "per": 1}}}, "rates.input_tokens.micro_usd"),
    "a fraction": ({"rates": {"input_tokens": {"micro_usd": 0.5, "per": 1}}}, "rates.input_tokens.micro_usd"),
    "a decimal point": ({"rates": {"input_tokens": {"micro_usd": 5.0, "per": 1}}}, "rates.input_tokens.micro_usd"),
    "a rate as text": ({"rates": {"input_tokens": {"micro_usd": "5", "per": 1}}}, "rates.input_tokens.micro_usd"),
    "a rate of 2 to the 53": ({"rates": {"input_tokens": {"micro_usd": 2**53, "per": 1}}}, "rates.input_tokens.micro_usd"),
    "no figure": ({"rates": {"input_tokens": {"per": 1}}}, "rates.input_tokens.micro_usd"),
    "per nothing": ({"rates": {"input_tokens": {"micro_usd": 1}}}, "rates.input_tokens.per"),
    "per zero": ({"rates": {"input_tokens": {"micro_usd": 1, "per": 0}}}, "rates.input_tokens.per"),
    "a bare figure": ({"rates": {"input_tokens": 5}}, "rates.input_tokens"),
    "required as text": ({"rates": {"input_tokens": rate("1", required="yes")}}, "rates.input_tokens.required"),
    "an unknown member of a rate": ({"rates": {"input_tokens": rate("1", euro=1)}}, "rates.input_tokens.euro"),
    "money in another unit": ({"unit": "credits"}, "rates.input_tokens.micro_usd"),
    "tiers that do not begin at nothing": ({"rates": None, "tiers": [tier(5)]}, "tiers.0.above_input_tokens"),
    "tiers that overlap": ({"rates": None, "tiers": [tier(0), tier(9), tier(9)]}, "tiers.2.above_input_tokens"),
    "tiers out of order": ({"rates": None, "tiers": [tier(0), tier(9), tier(5)]}, "tiers.2.above_input_tokens"),
    "a tier with fewer dimensions": ({"rates": None, "tiers": [tier(0), tier(9, rates(input_tokens="1"))]}, "tiers.1.rates"),
    "a tier without rates": ({"rates": None, "tiers": [{"above_input_tokens": 0}]}, "tiers.0.rates"),
    "a tier above a fraction": ({"rates": None, "tiers": [tier(0), tier(0.5)]}, "tiers.1.above_input_tokens"),
    "no tier": ({"rates": None, "tiers": []}, "tiers"),
    "17 tiers": ({"rates": None, "tiers": [tier(n) for n in range(17)]}, "tiers"),
    "a tier as a number": ({"rates": None, "tiers": [7]}, "tiers.0"),
    "aliases as text": ({"aliases": "chat"}, "aliases"),
    "an alias with a space": ({"aliases": ["a", "b c"]}, "aliases.1"),
    "the model as its own alias": ({"aliases": [MODEL]}, "aliases.0"),
    "an unknown member": ({"colour": "red"}, "colour"),
    "a control character in the source": ({"source": "a\tb"}, "source"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "path"), BAD.values(), ids=BAD.keys())
async def test_a_malformed_table_is_a_400_that_names_the_field_and_nothing_is_written(
    ledger, clock, body, path
):
    before = await ledger.contents()
    reply = await ledger.call("publish_price_table", body={"model": MODEL, "rates": CHAT, **body})
    assert_problem(reply, 400, "malformed")
    assert path in [error["path"] for error in reply["errors"]]
    assert await ledger.contents() == before


@pytest.mark.parametrize("body", [[], 7, None, "text"], ids=repr)
async def test_a_body_that_is_no_object_is_malformed(ledger, clock, body):
    assert_problem(await ledger.call("publish_price_table", body=body), 400, "malformed")


async def test_an_unknown_table_is_a_404(ledger, clock):
    reply = await ledger.call("price_table", price_table_id=7)
    assert_problem(reply, 404, "price_table_unknown")


async def test_a_null_member_of_a_rate_is_as_if_left_out(ledger, clock):
    rate = {"micro_usd": 1, "amount": None, "per": 1, "required": None}
    reply = await ledger.call("publish_price_table", body={"model": "m", "rates": {"images": rate}})
    assert reply["rates"]["images"] == {"micro_usd": 1, "per": 1, "required": False}

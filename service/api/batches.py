"""Many calls in one request: an array of bodies, answered item by item (207)."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from service.api.calls import Errand, count
from service.api.fields import Fields
from service.api.operation import Operation
from service.api.problems import Fault, malformed, outcome_of, problem_of
from service.api.strict import check, check_content_type, json_array
from service.ledger import Item, Outcome

__all__ = ["MOST_ITEMS", "is_batch", "make_many"]

MOST_ITEMS: Final = 512

T = TypeVar("T")


def is_batch(operation: Operation, body: bytes) -> bool:
    """Whether a body is an array and the operation takes arrays."""
    return operation.batches and body[:64].lstrip()[:1] == b"["


async def make_many(errand: Errand, fields: Fields, body: bytes) -> Outcome:
    """Make each call of an array, in its order; a bad item fails alone.

    Raises:
        Problem: 400 when the array itself is malformed.
    """
    check_content_type(fields)
    _refuse_idempotency_key(fields)
    items = json_array(body)
    if not 1 <= len(items) <= MOST_ITEMS:
        raise malformed([Fault("", f"must be an array of 1 to {MOST_ITEMS} items")])
    outcomes = await _decided(errand, items)
    for outcome in outcomes:
        count(errand.call, outcome)
    return Outcome(207, {}, b"[" + b",".join(map(_entry, outcomes)) + b"]")


async def _decided(errand: Errand, items: list[Any]) -> list[Outcome]:
    """Get everything ready before anything is sent, so that nobody overtakes who takes longer."""
    ready = await asyncio.gather(*(_or_problem(_item(errand, item)) for item in items))
    answers = errand.send([one for one in ready if isinstance(one, Item)])
    decided = iter(await asyncio.gather(*map(_or_problem, answers)))
    return [next(decided) if isinstance(one, Item) else one for one in ready]


async def _item(errand: Errand, item: Any) -> Item:
    return await errand.item(check(errand.model, item), json.dumps(item))


async def _or_problem(wanted: Awaitable[T]) -> T | Outcome:
    try:
        return await wanted
    except Exception as error:  # noqa: BLE001  # its neighbours have their answers all the same
        return outcome_of(problem_of(error))


def _entry(outcome: Outcome) -> bytes:
    return b'{"status": %d, "body": %b}' % (outcome.status, outcome.body)


def _refuse_idempotency_key(fields: Fields) -> None:
    if b"idempotency-key" in fields:
        raise malformed([Fault("header.idempotency-key", "cannot stand for several requests")])

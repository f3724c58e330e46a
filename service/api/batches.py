"""Many calls in one request: an array of bodies, answered item by item (207)."""

import asyncio
import json
from typing import Any, Final

from pydantic import BaseModel

from service.api.calls import count, send_item
from service.api.operation import Operation
from service.api.problems import Fault, Problem, malformed, outcome_of, problem_of
from service.api.strict import check, check_content_type, json_array
from service.ledger import Call, Outcome

__all__ = ["MOST_ITEMS", "is_batch", "make_many"]

MOST_ITEMS: Final = 512


def is_batch(operation: Operation, body: bytes) -> bool:
    """Whether a body is an array and the operation takes arrays."""
    return operation.batches and body[:64].lstrip()[:1] == b"["


async def make_many(scope: Any, call: Call, operation: Operation, body: bytes) -> Outcome:
    """Make each call of an array, in its order; a bad item fails alone.

    Raises:
        Problem: 400 when the array itself is malformed.
    """
    check_content_type(scope["headers"])
    _refuse_idempotency_key(scope["headers"])
    items = json_array(body)
    if not 1 <= len(items) <= MOST_ITEMS:
        raise malformed([Fault("", f"must be an array of 1 to {MOST_ITEMS} items")])
    assert operation.body is not None  # noqa: S101  # an operation that takes arrays has a body
    outcomes = await asyncio.gather(
        *(_make_item(scope, call, operation.body, item) for item in items)
    )
    for outcome in outcomes:
        count(call, outcome)
    return Outcome(207, {}, b"[" + b",".join(map(_entry, outcomes)) + b"]")


async def _make_item(scope: Any, call: Call, model: type[BaseModel], item: Any) -> Outcome:
    try:
        checked = check(model, item)
        return await send_item(scope, call, checked, json.dumps(item))
    except Problem as problem:
        return outcome_of(problem)
    except Exception as error:  # noqa: BLE001  # its neighbours have their answers all the same
        return outcome_of(problem_of(error))


def _entry(outcome: Outcome) -> bytes:
    return b'{"status": %d, "body": %b}' % (outcome.status, outcome.body)


def _refuse_idempotency_key(headers: Any) -> None:
    if any(name == b"idempotency-key" for name, _ in headers):
        raise malformed([Fault("header.idempotency-key", "cannot stand for several requests")])

"""Many calls in one request: an array of bodies, answered item by item (207)."""

import asyncio
import json
from typing import Any, Final

from service.api.calls import Errand, count
from service.api.operation import Operation
from service.api.problems import Fault, malformed, outcome_of, problem_of
from service.api.strict import Headers, check, check_content_type, json_array
from service.ledger import Outcome

__all__ = ["MOST_ITEMS", "is_batch", "make_many"]

MOST_ITEMS: Final = 512


def is_batch(operation: Operation, body: bytes) -> bool:
    """Whether a body is an array and the operation takes arrays."""
    return operation.batches and body[:64].lstrip()[:1] == b"["


async def make_many(errand: Errand, headers: Headers, body: bytes) -> Outcome:
    """Make each call of an array, in its order; a bad item fails alone.

    Raises:
        Problem: 400 when the array itself is malformed.
    """
    check_content_type(headers)
    _refuse_idempotency_key(headers)
    items = json_array(body)
    if not 1 <= len(items) <= MOST_ITEMS:
        raise malformed([Fault("", f"must be an array of 1 to {MOST_ITEMS} items")])
    outcomes = await asyncio.gather(*(_run_item(errand, item) for item in items))
    for outcome in outcomes:
        count(errand.call, outcome)
    return Outcome(207, {}, b"[" + b",".join(map(_entry, outcomes)) + b"]")


async def _run_item(errand: Errand, item: Any) -> Outcome:
    try:
        return await errand.run(check(errand.model, item), json.dumps(item))
    except Exception as error:  # noqa: BLE001  # its neighbours have their answers all the same
        return outcome_of(problem_of(error))


def _entry(outcome: Outcome) -> bytes:
    return b'{"status": %d, "body": %b}' % (outcome.status, outcome.body)


def _refuse_idempotency_key(headers: Headers) -> None:
    if any(name == b"idempotency-key" for name, _ in headers):
        raise malformed([Fault("header.idempotency-key", "cannot stand for several requests")])

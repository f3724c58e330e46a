"""The way of a section-2 call: shape, ledger, answer. The same for all of them."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from litestar import Request, Response
from pydantic import BaseModel

from service import metrics
from service.api import vendors
from service.api.fields import Fields
from service.api.operation import Operation
from service.api.problems import CODES, Fault, malformed
from service.api.provider_usage import has_usage, with_usage
from service.api.strict import decode
from service.ledger import Call, Item, KeyRecord, Ledger, Outcome

__all__ = [
    "REASONS",
    "AnyRequest",
    "Errand",
    "answer",
    "check_idempotency_key",
    "count",
    "item_of",
    "ledger_of",
    "make_one",
    "operation_of",
]

AnyRequest = Request[KeyRecord, Any, Any]

REASONS = (
    "budget_exhausted",
    "exceeds_limit",
    "too_many_holds",
    "account_unknown",
    "account_suspended",
    "no_budget",
)
"""Why a request is denied: a closed vocabulary."""


_SETTLEMENT = ((b'"overage": {"', "overage"), (b'"late": true', "late"))
_MARKS: dict[Call, tuple[tuple[bytes, str], ...]] = {
    "settle": _SETTLEMENT,
    "resolve": _SETTLEMENT,
    "charge": ((b'"recorded": true', "recorded"),),
}
"""What stands in an answer about spend that was not as authorized: in each call's, as the ledger
writes it. A caller's text cannot hold them, its quotes are escaped; to parse every answer would
cost more than to find them."""


def ledger_of(request: AnyRequest) -> Ledger:
    """The ledger of the application that a request came to."""
    ledger: Ledger = request.app.state.ledger
    return ledger


class Errand(NamedTuple):
    """A call of one name by one caller, with the model of its body."""

    ledger: Ledger
    caller: KeyRecord
    call: Call
    model: type[BaseModel]

    async def run(self, checked: BaseModel, text: str) -> Outcome:
        """Make the call with a body that is checked.

        Raises:
            Problem: 422 when its ``provider_usage`` is not understood.
            LedgerError: the ledger gave no answer.
        """
        (answer,) = self.send([await self.item(checked, text)])
        return await answer

    async def item(self, checked: BaseModel, text: str) -> Item:
        """All that comes before the call is made, which may take a look into the ledger.

        Raises:
            Problem: 422 when its ``provider_usage`` is not understood.
            LedgerError: the ledger gave no answer.
        """
        if has_usage(checked):
            text = await with_usage(self.ledger, self.caller, checked, text)
        return item_of(checked, text)

    def send(self, items: Sequence[Item]) -> list[asyncio.Future[Outcome]]:
        """Make the calls, decided in their order; their answers to come."""
        return self.ledger.send(self.call, items, self.caller.key_id, self.caller.account_id)


def item_of(checked: BaseModel, text: str) -> Item:
    """A call that is ready to be made: its body, checked and as it came."""
    return Item(text, vars(checked).get("account_id"))


async def make_one(errand: Errand, fields: Fields, body: bytes) -> Outcome:
    """Check a body and make the call with the very text of it.

    Raises:
        Problem: 400 when it is malformed.
        LedgerError: the ledger gave no answer.
    """
    checked, text = decode(errand.model, fields, body)
    check_idempotency_key(fields, checked.request_id)  # type: ignore[attr-defined]
    outcome = await errand.run(checked, text)
    count(errand.call, outcome)
    return outcome


def answer(request: AnyRequest, outcome: Outcome, success: int = 200) -> Response[bytes]:
    """Send an outcome, in a vendor's envelope where one is wanted."""
    vendor = vendors.wanted(request.scope, operation_of(request))
    outcome = vendors.dress(outcome, vendor)
    return Response(
        outcome.body,
        status_code=outcome.status if outcome.is_problem else success,
        headers=outcome.headers,
        media_type=vendors.media_type(outcome, vendor),
    )


def check_idempotency_key(fields: Fields, key: str, field: str = "request_id") -> None:
    """Refuse an Idempotency-Key that is not the key in the body, or in the path."""
    given = fields.get(b"idempotency-key")
    if given is not None and given.decode("latin-1").strip('"') != key:
        raise malformed([Fault("header.idempotency-key", f"must equal {field}")])


def count(call: Call, outcome: Outcome) -> None:
    """Count an answer by what became of the call."""
    if not outcome.is_problem:
        metrics.SUCCESSES[call].inc()
        for mark, kind in _MARKS.get(call, ()):
            if mark in outcome.body:
                metrics.EXCEPTIONS[call, kind].inc()
        return
    body = json.loads(outcome.body)
    if body.get("decision") == "denied":
        metrics.DECISIONS.labels(call, "denied", _known(body.get("reason"), REASONS)).inc()
    else:
        code = str(body.get("type")).rpartition("/")[2]
        metrics.DECISIONS.labels(call, "refused", _known(code, CODES)).inc()
        # A hold under review refuses to be released or extended too: that is no attempt to settle.
        if code == "settlement_exceeds_hold" and (call, "review") in metrics.EXCEPTIONS:
            metrics.EXCEPTIONS[call, "review"].inc()


def _known(value: Any, vocabulary: Any) -> str:
    return value if value in vocabulary else "other"


def operation_of(request: AnyRequest) -> Operation:
    """The operation that a request came to."""
    operation: Operation = request.scope["route_handler"].opt["operation"]
    return operation

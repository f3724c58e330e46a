"""The way of a section-2 call: shape, ledger, answer. The same for all of them."""

import json
from typing import Any, TypeVar

from litestar import Request, Response
from pydantic import BaseModel

from service import metrics
from service.api import vendors
from service.api.operation import Operation
from service.api.problems import CODES, Fault, malformed
from service.api.query import parameters
from service.api.strict import Headers, decode
from service.ledger import Call, KeyRecord, Ledger, Outcome

__all__ = ["REASONS", "AnyRequest", "answer", "check_idempotency_key", "ledger_of", "write"]

AnyRequest = Request[KeyRecord, Any, Any]
Model = TypeVar("Model", bound=BaseModel)

REASONS = (
    "budget_exhausted",
    "exceeds_limit",
    "too_many_holds",
    "account_unknown",
    "account_suspended",
    "no_budget",
)
"""Why a request is denied: a closed vocabulary."""

_DENIALS = (402, 429)


def ledger_of(request: AnyRequest) -> Ledger:
    """The ledger of the application that a request came to."""
    ledger: Ledger = request.app.state.ledger
    return ledger


async def write(
    request: AnyRequest, body: bytes, call: Call, model: type[BaseModel]
) -> Response[bytes]:
    """Check a body, make the call with the very text of it, and send what the ledger answers."""
    scope = request.scope
    parameters(scope, scope["route_handler"].opt["operation"])
    headers = scope["headers"]
    checked, text = decode(model, headers, body)
    check_idempotency_key(headers, checked.request_id)  # type: ignore[attr-defined]
    return await make(request, call, text, getattr(checked, "account_id", None))


async def make(
    request: AnyRequest, call: Call, item: str, account_id: str | None = None
) -> Response[bytes]:
    """Make a call whose body is checked, and answer."""
    caller = request.user
    outcome = await ledger_of(request).call(
        call, item, caller.key_id, caller.account_id, account_id=account_id
    )
    outcome = _with_denial_status(outcome, request.app.state.denial_status)
    _count(call, outcome)
    return answer(request, outcome)


def answer(request: AnyRequest, outcome: Outcome, success: int = 200) -> Response[bytes]:
    """Send an outcome, in a vendor's envelope where one is wanted."""
    scope = request.scope
    if outcome.is_problem:
        outcome = vendors.dress(outcome, vendors.wanted(scope))
    return Response(
        outcome.body,
        status_code=outcome.status if outcome.is_problem else success,
        headers=outcome.headers,
        media_type=vendors.media_type(outcome, scope),
    )


def check_idempotency_key(headers: Headers, request_id: str) -> None:
    """Refuse an Idempotency-Key that is not the request_id."""
    for name, value in headers:
        if name == b"idempotency-key" and value.decode("latin-1").strip('"') != request_id:
            raise malformed([Fault("header.idempotency-key", "must equal request_id")])


def _with_denial_status(outcome: Outcome, status: int) -> Outcome:
    if outcome.status not in _DENIALS or status not in _DENIALS or outcome.status == status:
        return outcome
    if status != 402:  # noqa: PLR2004  # 429 is the default: the ledger's own choice stands
        return outcome
    body = json.loads(outcome.body) | {"status": status}
    return outcome._replace(status=status, body=json.dumps(body).encode())


def _count(call: Call, outcome: Outcome) -> None:
    if not outcome.is_problem:
        kind = "authorized" if call in {"reserve", "charge"} else "done"
        metrics.DECISIONS.labels(call, kind, "none").inc()
        return
    body = json.loads(outcome.body)
    if body.get("decision") == "denied":
        metrics.DECISIONS.labels(call, "denied", _known(body.get("reason"), REASONS)).inc()
    else:
        code = str(body.get("type")).rpartition("/")[2]
        metrics.DECISIONS.labels(call, "refused", _known(code, CODES)).inc()


def _known(value: Any, vocabulary: Any) -> str:
    return value if value in vocabulary else "other"


def operation_of(request: AnyRequest) -> Operation:
    """The operation that a request came to."""
    operation: Operation = request.scope["route_handler"].opt["operation"]
    return operation

"""The routes of the section-2 calls, in front of the framework: every model call makes them.

What the framework does around a handler costs more here than the decision does. The operation, the
models, the checks and the problems are the same ones that all other routes have.
"""

from typing import Any

from service.api import batches, vendors
from service.api.auth import KeyRing, permitted, presented
from service.api.bodies import MAX_BODY_BYTES, read_body
from service.api.calls import Errand, check_idempotency_key, item_of, make_one
from service.api.fields import Fields
from service.api.operation import Operation
from service.api.problems import Problem, outcome_of, problem_of
from service.api.provider_usage import has_usage
from service.api.query import parameters
from service.api.strict import decode
from service.direct import Answer
from service.ledger import Call, Item, KeyRecord, Ledger, Outcome

__all__ = ["CallRoute"]

_ALLOWED = "OPTIONS, POST"
_JSON = (b"content-type", b"application/json")
_PROBLEM = (b"content-type", b"application/problem+json")


class CallRoute:
    """``POST /<call>``."""

    def __init__(self, call: Call, operation: Operation, description: str) -> None:
        self.call = call
        self.path = f"/{call}"
        assert operation.body is not None  # noqa: S101  # every call has a body
        self.model = operation.body
        self.operation = operation
        self.description = description

    async def answer(
        self, scope: Any, fields: Fields, receive: Any, ledger: Ledger, ring: KeyRing
    ) -> Answer:
        """Answer a request; every exception becomes a problem."""
        scope["path_template"] = self.path
        try:
            if scope["method"] == "POST":
                outcome = await self._make(scope, fields, receive, ledger, ring)
            else:
                outcome = self._other_method(scope)
        except Exception as error:  # noqa: BLE001  # what nobody foresaw is logged and a 500
            outcome = outcome_of(problem_of(error))
        return self.as_sent(scope, outcome)

    def plainly(
        self, scope: Any, fields: Fields, body: bytes, ring: KeyRing
    ) -> tuple[KeyRecord, Item] | None:
        """Who asks and what for, where that is plain; None: `answer` is to find out, and to say."""
        if scope["method"] != "POST" or scope["query_string"] or len(body) > MAX_BODY_BYTES:
            return None
        if batches.is_batch(self.operation, body):
            return None
        try:
            caller = permitted(ring.known(presented(fields)), self.operation)
            checked, text = decode(self.model, fields, body)
            check_idempotency_key(fields, checked.request_id)  # type: ignore[attr-defined]
        except Exception:  # noqa: BLE001  # whatever it is, the usual way meets it too and says so
            return None
        return None if has_usage(checked) else (caller, item_of(checked, text))

    async def _make(
        self, scope: Any, fields: Fields, receive: Any, ledger: Ledger, ring: KeyRing
    ) -> Outcome:
        hashed = presented(fields)
        caller = permitted(ring.known(hashed) or await ring.look_up(hashed), self.operation)
        parameters(scope, self.operation)
        body = await read_body(fields, receive, batches=self.operation.batches)
        make = batches.make_many if batches.is_batch(self.operation, body) else make_one
        return await make(Errand(ledger, caller, self.call, self.model), fields, body)

    def _other_method(self, scope: Any) -> Outcome:
        if scope["method"] == "OPTIONS":
            return Outcome(204, {"Allow": _ALLOWED}, b"")
        raise Problem("method_not_allowed", "See the Allow header.", headers={"Allow": _ALLOWED})

    def as_sent(self, scope: Any, outcome: Outcome) -> Answer:
        """The ledger's bytes as they stand, in a vendor's envelope where one is wanted."""
        kind = _JSON
        if outcome.is_problem:
            vendor = vendors.wanted(scope, self.operation)
            outcome = vendors.dress(outcome, vendor)
            kind = _PROBLEM if vendor is None else _JSON
        status, headers, body, _ = outcome
        fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        if status != 204:  # noqa: PLR2004  # No Content
            fields += (kind, (b"content-length", b"%d" % len(body)))
        return status, fields, body

"""The application: the section-2 calls in front, and the framework for all the rest."""

from collections.abc import Callable, Iterable
from typing import Any

from litestar import Litestar

from service.api.call_route import CallRoute
from service.api.calls import count
from service.api.fields import fields_of
from service.api.observe import Seen
from service.api.paths import unify
from service.api.problems import outcome_of, problem_of
from service.direct import Answer, send_answer
from service.ledger import Outcome

__all__ = ["Service"]


class Service(Litestar):
    """The section-2 calls, and Litestar for all the rest; every request is observed."""

    calls: dict[str, CallRoute]

    def add_calls(self, calls: Iterable[CallRoute]) -> None:
        """Answer these paths in front of the framework."""
        self.calls = {call.path: call for call in calls}
        self._by = (self.state.ledger, self.state.key_ring)

    def take(self, scope: Any, body: bytes, reply: Callable[[Answer], None]) -> bool:
        """Make a section-2 call that is plainly good, for `DirectProtocol`."""
        call = self.calls.get(scope["path"])
        if call is None:
            return False
        fields = fields_of(scope)
        ledger, ring = self._by
        plain = call.plainly(scope, fields, body, ring)
        if plain is None:
            return False
        caller, item = plain
        scope["path_template"] = call.path
        waiting = _Waiting(call, scope, Seen(scope, fields), reply)
        ledger.send_one(call.call, item, caller.key_id, caller.account_id, waiting)
        return True

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI entry point."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        fields = fields_of(scope)
        seen = Seen(scope, fields)
        try:
            if call := self.calls.get(scope["path"]):
                answer = await call.answer(scope, fields, receive, *self._by)
                await send_answer(send, seen.told(answer))
            else:
                unify(scope)
                await super().__call__(scope, receive, seen.sending(send))
        finally:
            seen.report()


_SPEECHLESS: Answer = (500, [(b"content-length", b"0")], b"")


class _Waiting:
    """A call that was taken, until it is answered."""

    __slots__ = ("_answered", "_call", "_reply", "_scope", "_seen")

    def __init__(
        self, call: CallRoute, scope: Any, seen: Seen, reply: Callable[[Answer], None]
    ) -> None:
        self._answered = False
        self._call = call
        self._scope = scope
        self._seen = seen
        self._reply = reply

    def done(self) -> bool:
        """Whether it was answered."""
        return self._answered

    def set_result(self, outcome: Outcome) -> None:
        """Count what the ledger says, and answer with it; a fault here is no neighbour's."""
        try:
            count(self._call.call, outcome)
            self._answer(outcome)
        except Exception as error:  # noqa: BLE001  # what nobody foresaw is logged and a 500
            self.set_exception(error)

    def set_exception(self, error: Exception) -> None:
        """Answer with a problem: why the ledger says nothing; raises nothing itself."""
        try:
            self._answer(outcome_of(problem_of(error)))
        except Exception as fault:  # noqa: BLE001  # it is logged, and no neighbour's
            problem_of(fault)
            self._reply(_SPEECHLESS)

    def _answer(self, outcome: Outcome) -> None:
        self._answered = True
        self._reply(self._seen.told(self._call.as_sent(self._scope, outcome)))
        self._seen.report()

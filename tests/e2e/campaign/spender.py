"""Calls in the words of the stories: each notes what its answer says of every window."""

import time
from dataclasses import dataclass, field
from datetime import datetime
from math import inf

from tests.e2e.campaign.client import Client
from tests.e2e.campaign.log import Json, Log, Times
from tests.e2e.campaign.roads import Said
from tests.e2e.campaign.tree import Tree, Window, amounts_of

__all__ = ["TTL_SECONDS", "Hold", "Spender"]

TTL_SECONDS = 86400
"""What does not lapse on purpose lives as long as any campaign."""

SLACK_SECONDS = 0.01
"""Between one clock and the other."""

BOOT = time.time() - time.monotonic()


@dataclass
class Hold:
    """A reservation that was asked for."""

    body: Json
    authorized: bool = False
    amounts: dict[str, int] = field(default_factory=dict)
    """What is held, by unit: worked out here, not taken from the answer."""
    expires_at: float = 0.0
    lapsed: bool = False

    @property
    def name(self) -> Json:
        return {"request_id": self.body["request_id"], "account_id": self.body["account_id"]}


@dataclass
class Spender:
    """One client's hands."""

    client: Client
    tree: Tree

    @property
    def log(self) -> Log:
        return self.client.log

    async def reserve(self, body: Json, call: str = "reserve") -> Hold:
        return self._asked(call, body, *await self.client.call(call, body))

    async def reserve_many(self, bodies: list[Json], call: str = "reserve") -> list[Hold]:
        answers = await self.client.call_many(call, bodies)
        return [self._asked(call, b, *a) for b, a in zip(bodies, answers, strict=True)]

    def _asked(self, call: str, body: Json, said: Said, times: Times) -> Hold:
        hold = Hold(body)
        status, answer = said
        if answer.get("decision") not in {"authorized", "denied"}:
            self.log.expect(False, f"{call} {body} was answered {said}")
            return hold
        first = self.log.acknowledge(
            (call, body["account_id"], body["request_id"]), body, said, times
        )
        hold.authorized = status == 200
        if hold.authorized:
            chosen = answer["chosen_alternative"]
            hold.amounts = amounts_of(body if chosen is None else body["alternatives"][chosen])
            hold.expires_at = _instant(answer["expires_at"]) if call == "reserve" else inf
            if first:
                self._admitted(call, hold, answer, times)
        elif first:
            self._denied(answer, times)
        return hold

    def _admitted(self, call: str, hold: Hold, answer: Json, times: Times) -> None:
        wanted = self.tree.windows(hold.body["account_id"], hold.amounts)
        lines = {(line["scope"], line["unit"]): line for line in answer["lines"]}
        told = {window: line["amount"] for window, line in lines.items()}
        self.log.expect(told == wanted, f"{hold.body} should hold {wanted}: {answer}")
        counter = {"settled": 0, "reserved": 0}
        decided_at = (
            hold.expires_at - hold.body.get("ttl_seconds", 0) if call == "reserve" else None
        )
        for window, amount in wanted.items():
            moved = {**counter, "settled" if call == "charge" else "reserved": amount}
            left = lines.get(window, {}).get("available")
            self.log.move(
                window, times, **moved, fits=amount, left=left, name=call, hint=decided_at
            )

    def _denied(self, answer: Json, times: Times) -> None:
        self.log.expect(answer["reason"] == "budget_exhausted", f"denied: {answer}")
        window = (answer["scope"], answer["unit"])
        self.log.deny(
            window, times, lacks=answer["required"], left=answer.get("available"), name="denial"
        )

    async def end(self, call: str, hold: Hold, body: Json) -> None:
        """Settle, release or resolve what is held."""
        self.ended(call, hold, body, *await self.client.call(call, body))

    def ended(self, call: str, hold: Hold, body: Json, said: Said, times: Times) -> None:
        """Take in the answer that ends a hold."""
        if said[0] != 200:
            self.log.expect(False, f"{call} {body} of {hold.body} was answered {said}")
            return
        account = body["account_id"]
        if not self.log.acknowledge((call, account, body["request_id"]), body, said, times):
            return
        held = self.tree.windows(account, hold.amounts)
        spends = "amounts" in body or "usage" in body
        actual = self.tree.windows(account, amounts_of(body)) if spends else {}
        lines = {(line["scope"], line["unit"]): line for line in said[1]["lines"]}
        if said[1].get("late"):
            self.log.expect(times.answered > hold.expires_at - SLACK_SECONDS, f"early: {said}")
            self.lapse(hold)
            self.log.figures.counts["settled late"] += 1
        else:
            self.log.expect(times.invoked < hold.expires_at + SLACK_SECONDS, f"not late: {said}")
        self.log.expect(
            {w: line["amount"] for w, line in lines.items()} == (actual or held),
            f"{call} {body} should move {actual or held}: {said}",
        )
        for window, amount in held.items():
            left = lines.get(window, {}).get("available")
            self.log.move(
                window,
                times,
                settled=actual.get(window, 0),
                reserved=0 if hold.lapsed and self.tree.is_lease(window) else -amount,
                left=left,
                name=call,
                hint=_instant(said[1].get("settled_at") or said[1]["released_at"]),
            )
        hold.amounts = {}

    def lapse(self, hold: Hold) -> None:
        """What it held of leases came back at the very instant, whoever wrote that down and when."""
        hold.lapsed = True
        end = hold.expires_at
        self.log.lapses_until = max(self.log.lapses_until, end)
        at = Times(end - SLACK_SECONDS, end + SLACK_SECONDS)
        for window, amount in self.tree.windows(hold.body["account_id"], hold.amounts).items():
            if self.tree.is_lease(window):
                self.log.move(window, at, settled=0, reserved=-amount, name="lapse", hint=end)

    def abandon(self, hold: Hold) -> None:
        """Nobody will ever end it: time does."""
        state = "unknown" if self.tree.plan(hold.body["account_id"]) == "keeper" else "lapsed"
        self.log.abandoned[hold.body["account_id"], hold.body["request_id"]] = state
        self.lapse(hold)

    async def end_late(self, hold: Hold, usage: Json) -> None:
        """Settle what may have lapsed: what was spent is counted, above any limit."""
        above = self.tree.windows(hold.body["account_id"], amounts_of(usage))
        self.log.excused.update(above)
        await self.end("settle", hold, usage)
        if not hold.lapsed:
            self.log.excused.subtract(above)

    async def refused(self, call: str, body: Json, status: int) -> Json:
        """A call that the ledger must refuse with that status; it moves nothing."""
        said, _ = await self.client.call(call, body)
        self.log.expect(said[0] == status, f"{call} {body} should be a {status}: {said}")
        return said[1]

    async def done(self, call: str, body: Json) -> Json:
        """A call that must succeed and moves nothing."""
        said, _ = await self.client.call(call, body)
        self.log.expect(said[0] == 200, f"{call} {body} was answered {said}")
        return said[1]

    async def adjust(self, window: Window, amount: int, key: str) -> None:
        """Correct what a window counts, once."""
        account, unit = window
        body = {
            "account_id": account,
            "budget": unit.replace("_", "-"),
            "amount": amount,
            "reason": "topped up",
            "idempotency_key": key,
        }
        said, times = await self.client.call("adjust", body)
        if said[0] != 200:
            self.log.expect(False, f"{body} was answered {said}")
        elif self.log.acknowledge(("adjust", account, key), body, said, times):
            self.log.move(window, times, settled=amount, reserved=0, name="adjust")


def _instant(text: str) -> float:
    """On the scale of ``time.monotonic``, as all is on one machine."""
    return datetime.fromisoformat(text).timestamp() - BOOT

"""The life of a reservation, said a second time: what each call answers, and what it moves."""

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.properties.adversary.accounts import Plan, Purse, Spender
from tests.properties.model import Denied, Line, Model, Reservation

__all__ = ["Book", "Entry", "Facts"]

Facts = dict[str, Any]
"""The members of a reply that the model speaks of."""

OVER = {"settled": "already_settled", "released": "already_released",
        "lapsed": "hold_lapsed", "overage_review": "settlement_exceeds_hold"}  # fmt: skip


@dataclass(eq=False)
class Entry(Reservation):
    """A reservation that was authorized, with what was said of it."""

    request_id: str = ""
    is_charge: bool = False
    policy: str = ""
    cancelled: bool = False
    rate: int | None = None
    told: Facts = field(default_factory=dict)
    refused: Any = None
    accepted: bool = False

    @property
    def on_expiry(self) -> str:
        """As it was when the hold was made."""
        return self.policy

    def state_at(self, at: datetime) -> str:
        if self.is_due(at):
            return {"keep": "unknown", "charge": "settled", "release": "lapsed"}[self.policy]
        if self.state == "open":
            return "cancellation_requested" if self.cancelled else "authorized"
        return self.state


class Book(Model):
    """Accounts, plans, prices and reservations, and every call there is."""

    def __init__(self, accounts: list[Spender], plans: dict[str, Plan]) -> None:
        super().__init__(list(accounts))
        self.plans = plans
        self.asked: dict[tuple[str, str], tuple[Any, Facts, Entry | None]] = {}
        self.rates: list[tuple[datetime, int]] = []

    def copied(self) -> "Book":
        return copy.deepcopy(self)

    def account(self, name: str) -> Spender:
        return next(a for a in self.accounts if a.name == name)  # type: ignore[return-value]

    def _denied(self, asked: Any, holder: Any, budget: Any, window: Any, wanted: int, at: datetime) -> Denied:  # fmt: skip
        limit = budget.limit_at(window, at)
        taken = budget.settled(window, at) + window.reserved(at)
        left = None if limit is None else limit - taken
        return Denied("", holder, budget, window, wanted, left, None)

    # -- decisions -----------------------------------------------------------------------------

    def ask(self, at: datetime, request_id: str, who: str, body: dict[str, Any]) -> Facts:
        """reserve, or charge where the body has no ttl."""
        account = self.account(who)
        known = self.asked.get((request_id, who))
        account.touch(at)
        if known is not None:
            same = known[0] == body
            return self._again(known, at) if same else {"code": "request_id_conflict"}
        amounts, rate = body.get("amounts"), None
        if amounts is None:
            rate = max(r for r in enumerate(self.rates) if r[1][0] <= at)[1][1]
            amounts = {"tokens": body["usage"], "usd_nano": body["usage"] * rate * 1000}
        facts, entry = self._decided(at, account, amounts, body)
        if "code" not in facts:
            self.asked[request_id, who] = (body, facts, entry)
        if entry is not None:
            entry.request_id, entry.told, entry.rate = request_id, facts, rate
        return facts

    def _again(self, known: tuple[Any, Facts, Entry | None], at: datetime) -> Facts:
        """The first answer, but for what has become of the reservation since."""
        _, facts, entry = known
        return {**facts, **({"state": entry.state_at(at)} if entry else {}), "replayed": True}

    def _decided(
        self, at: datetime, account: Spender, amounts: Any, body: dict[str, Any]
    ) -> tuple[Facts, Entry | None]:
        ttl, record = body.get("ttl_seconds"), body.get("record", False)
        if not record:
            if account.is_suspended():
                return {
                    "decision": "denied",
                    "reason": "account_suspended",
                    "replayed": False,
                }, None
            if not any(holder.budgets for holder in account.path()):
                return {"decision": "denied", "reason": "no_budget", "replayed": False}, None
        found = (
            self.record(account, amounts, at) if record else self.decide(account, amounts, at, ttl)
        )
        if isinstance(found, Denied):
            own = {"available": found.available} if found.account is account else {}
            return {
                "decision": "denied", "scope": found.account.name, "budget": found.budget.name,
                "required": found.required, "limit": found.budget.limit_at(found.window, at),  # type: ignore[attr-defined]
                "replayed": False, **own,
            }, None  # fmt: skip
        entry = Entry(
            account, amounts, found.lines, found.expires_at, found.state, is_charge=ttl is None
        )
        entry.policy = Reservation.on_expiry.fget(entry) if entry.lines else "keep"  # type: ignore[attr-defined]
        self.reservations[-1] = entry
        return {
            "decision": "authorized", "state": "authorized" if ttl else "settled", "replayed": False,
            "lines": [self._line(account, line, at) for line in entry.lines],
        }, entry  # fmt: skip

    def record(self, account: Spender, amounts: Any, at: datetime) -> Reservation:
        """Spend that already happened fits whatever there is."""
        lines = [
            Line(budget, holder.window(budget, at), budget.asks(amounts), None)
            for holder in account.path()
            for budget in sorted(holder.budgets, key=lambda b: b.name)
        ]
        for line in lines:
            line.window.lines.append(line)
        found = Reservation(account, amounts, lines, None)
        self.reservations.append(found)
        self._spend(found, amounts, at)
        return found

    def _line(self, account: Spender, line: Line, at: datetime) -> Facts:
        scope = next(h for h in account.path() if line.budget in h.budgets)
        facts: Facts = {"scope": scope.name, "budget": line.budget.name, "amount": line.held}
        if scope is account:
            limit = line.budget.limit_at(line.window, at)  # type: ignore[attr-defined]
            taken = line.budget.settled(line.window, at) + line.window.reserved(at)
            facts["available"] = None if limit is None else limit - taken
        return facts

    # -- the life that follows ---------------------------------------------------------------

    def find(self, request_id: str, who: str | None) -> Entry | str:
        """A reservation, or the code that says why there is none."""
        named = [key for key in self.asked if key[0] == request_id and who in {None, key[1]}]
        if len(named) != 1:
            return "account_id_required" if named else "reservation_unknown"
        return self.asked[named[0]][2] or "not_authorized"

    def settle(self, at: datetime, request_id: str, who: str | None, spent: Any) -> Facts:
        """``spent``: amounts; how many tokens, for one that is priced; or None: nobody knows."""
        entry = self.find(request_id, who)
        if isinstance(entry, str):
            return {"code": entry}
        if entry.is_charge:
            return {"code": "already_settled"}
        if entry.is_due(at) and entry.policy == "charge":
            self._expire(entry, at)
        if spent is None:
            return self._unknown(entry, at)
        return self._settled(entry, self.priced(entry, spent), at, person=False)

    def priced(self, entry: Entry, tokens: int) -> Any:
        rate = entry.rate or 1
        return {"tokens": tokens, "usd_nano": tokens * rate * 1000}

    def _unknown(self, entry: Entry, at: datetime) -> Facts:
        state = entry.state_at(at)
        if state in {"settled", "released", "lapsed", "overage_review"}:
            return {"code": OVER[state]}
        if entry.state == "unknown":
            return {"state": "unknown", "replayed": True}
        held = [line for line in entry.lines if line.state == "held"]
        if not any(line.lapses_at is None for line in held) and any((line.lapses_at or at) <= at for line in held):  # fmt: skip
            return {"code": "hold_lapsed"}
        self._keep(entry, at)
        entry.state = "unknown"
        return {"state": "unknown", "replayed": False}

    def _keep(self, entry: Entry, at: datetime) -> None:
        for line in entry.lines:
            if line.lapses_at is not None and line.lapses_at > at:
                line.lapses_at = None

    def _settled(self, entry: Entry, amounts: Any, at: datetime, *, person: bool) -> Facts:
        state = entry.state_at(at)
        if state == "settled":
            same = entry.amount == amounts
            return (
                {"state": "settled", "replayed": True} if same else {"code": "settlement_conflict"}
            )
        if state == "overage_review" and not person:
            return {"code": "settlement_exceeds_hold"}
        if not person and any(self._exceeds(line, amounts, at) for line in entry.lines):
            self._keep(entry, at)
            entry.state, entry.refused = "overage_review", amounts
            return {"code": "settlement_exceeds_hold"}
        late = any(line.state != "held" or (line.lapses_at or at + timedelta(1)) <= at for line in entry.lines)  # fmt: skip
        over = {
            line.budget.unit: line.budget.asks(amounts) - line.held
            for line in entry.lines
            if line.budget.asks(amounts) > line.held
        }
        self._spend(entry, amounts, at)
        return {"state": "settled", "replayed": False, "late": late, "overage": over}

    def _exceeds(self, line: Line, amounts: Any, at: datetime) -> bool:
        assert isinstance(line.budget, Purse)
        held = line.state == "held" and (line.lapses_at is None or line.lapses_at > at)
        return held and line.budget.overage == "reject" and line.budget.asks(amounts) > line.held

    def give_back(self, at: datetime, request_id: str, who: str | None, *, person: bool = False) -> Facts:  # fmt: skip
        entry = self.find(request_id, who)
        if isinstance(entry, str):
            return {"code": entry}
        state = entry.state_at(at)
        if state == "released":
            return {"state": "released", "replayed": True}
        if state in {"settled", "lapsed"} or (state == "overage_review" and not person):
            return {"code": OVER[state]}
        for line in entry.lines:
            if line.state == "held":
                line.state = "released"
        entry.state = "released"
        return {"state": "released", "replayed": False}

    def extend(self, at: datetime, request_id: str, who: str | None, ttl: int) -> Facts:
        entry = self.find(request_id, who)
        if isinstance(entry, str):
            return {"code": entry}
        state = entry.state_at(at)
        if state not in {"authorized", "cancellation_requested"}:
            return {"code": "hold_lapsed" if state == "unknown" else OVER[state]}
        assert entry.expires_at is not None
        entry.expires_at = max(entry.expires_at, at + timedelta(seconds=ttl))
        for line in entry.lines:
            if line.lapses_at is not None:
                line.lapses_at = entry.expires_at
        return {"state": state, "replayed": False}

    def cancel(self, at: datetime, request_id: str, who: str | None) -> Facts:
        entry = self.find(request_id, who)
        if isinstance(entry, str):
            return {"code": entry}
        state = entry.state_at(at)
        if state not in {"authorized", "cancellation_requested", "unknown"}:
            return {"code": OVER[state]}
        entry.cancelled = entry.cancelled or state == "authorized"
        return {
            "state": "cancellation_requested" if state == "authorized" else state,
            "replayed": state != "authorized",
        }

    def resolve(self, at: datetime, request_id: str, who: str | None, action: str, spent: int) -> Facts:  # fmt: skip
        entry = self.find(request_id, who)
        if isinstance(entry, str):
            return {"code": entry}
        if action == "release":
            return self.give_back(at, request_id, who, person=True)
        if entry.is_charge:
            return {"code": "already_settled"}
        if entry.is_due(at) and entry.policy == "charge":
            self._expire(entry, at)
        if action == "settle":
            return self._settled(entry, self.priced(entry, spent), at, person=True)
        return self._accept(entry, at)

    def _accept(self, entry: Entry, at: datetime) -> Facts:
        state = entry.state_at(at)
        if state == "overage_review":
            entry.accepted = True
            return self._settled(entry, entry.refused, at, person=True)
        if entry.accepted:
            return {"state": "settled", "replayed": True}
        codes = {name: OVER[name] for name in ("settled", "released", "lapsed")}
        return {"code": codes.get(state, "settlement_conflict")}

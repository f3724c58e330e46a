"""What administrators do, on top of the naive book: plans, limits, moves, raises, corrections."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.properties.adversary.accounts import Definition, Plan, Purse, Spender
from tests.properties.adversary.ledger import Book, Facts

__all__ = ["World"]


class World(Book):
    """A book whose every call is a name and arguments, so that two may be told in either order."""

    def perform(self, at: datetime, name: str, *arguments: Any) -> Facts:
        """One call; what must be in its reply."""
        found: Facts = getattr(self, name)(at, *arguments)
        return found

    def leapt(self, at: datetime) -> None:
        """Time has passed: changes of plan that are due have come at their own instants."""
        for account in self._spenders():
            if account.scheduled and account.scheduled[1] <= at:
                plan, since = account.scheduled
                account.plan, account.scheduled = plan, None
                account.refresh("now", since)

    def tell(self, budget: Any, window: Any, at: datetime) -> None:
        """Thresholds are tests/properties/test_model.py's."""

    def _spenders(self) -> list[Spender]:
        return [self.account(a.name) for a in self.accounts]

    def swept(self, at: datetime) -> Facts:
        return {"count": self.sweep(at)}

    def due(self, at: datetime) -> Facts:
        """apply_due writes down what counts already."""
        return {}

    def put_budget(self, at: datetime, who: str, wanted: Definition, apply: str) -> Facts:
        account = self.account(who)
        kept = account.shelf.setdefault(wanted.counts, replace(wanted))
        kept.limit = wanted.limit
        account.own[wanted.name] = kept
        account.refresh(apply, at)
        self._limit(kept, apply, at)
        return {"limit_amount": wanted.limit}

    def put_plan(self, at: datetime, plan_id: str, limit: int | None, apply: str) -> Facts:
        """All of its budgets get a limit."""
        for definition in self.plans[plan_id].budgets:
            definition.limit = limit
            self._limit(definition, apply, at)
        return {"plan_id": plan_id}

    def _limit(self, definition: Definition, apply: str, at: datetime) -> None:
        for account in self._spenders():
            for purse in account.purses.values():
                if purse.definition is definition:
                    purse.new_limit(apply, at)

    def delete_budget(self, at: datetime, who: str, name: str) -> Facts:
        account = self.account(who)
        if name not in account.own:
            return {"code": "budget_unknown"}
        del account.own[name]
        account.refresh("now", at)
        return {"name": name}

    def switch_plan(self, at: datetime, who: str, plan_id: str, when: str | datetime) -> Facts:
        account, plan = self.account(who), self.plans[plan_id]
        begins = self._begins(account, when, at)
        if begins is not None and begins > at:
            account.scheduled = (plan, begins)
            return {"next_plan_id": plan_id}
        self._switch(account, plan, "now" if isinstance(when, datetime) else when, at)
        return {"plan_id": plan_id}

    def _begins(self, account: Spender, when: str | datetime, at: datetime) -> datetime | None:
        """None: at once."""
        if when != "next_window":
            return when if isinstance(when, datetime) else None
        ends = [self._ends(account, p, at) for p in account.budgets if p.name not in account.own]  # type: ignore[arg-type]
        return max((end for end in ends if end is not None), default=None)

    def _ends(self, account: Spender, purse: Purse, at: datetime) -> datetime | None:
        window = purse.current(at)
        if window is not None:
            return window.ends_at
        period = None if purse.policy["kind"] == "fixed" else account.next_period(purse, at)
        return period.ends_at if period else None

    def _switch(self, account: Spender, plan: Plan, apply: str, at: datetime) -> None:
        stays = account.plan is plan
        account.plan, account.scheduled = plan, None
        account.refresh(apply, at)
        if stays and apply == "now":
            for purse in account.budgets:
                if purse.name not in account.own:
                    purse.give_limit(at)  # type: ignore[attr-defined]

    def move(self, at: datetime, who: str, parent: str | None) -> Facts:
        account = self.account(who)
        above = self.account(parent) if parent else None
        if above is not None and account in above.path():
            return {"code": "parent_cycle"}
        account.parent = above
        return {"parent_id": parent}

    def suspend(self, at: datetime, who: str, status: str) -> Facts:
        self.account(who).suspended = status == "suspended"
        return {"status": status}

    def put_raise(self, at: datetime, who: str, name: str, amount: int, until: datetime) -> Facts:
        account = self.account(who)
        purse = next((p for p in account.budgets if p.name == name), None)
        if purse is None:
            return {"code": "budget_unknown"}
        account.raises = {k: v for k, v in account.raises.items() if k[0] != name}
        account.raises[name, purse.unit] = (amount, until)
        account.refresh("now", at)
        return {"amount": amount}

    def delete_raise(self, at: datetime, who: str, name: str) -> Facts:
        account = self.account(who)
        live = [key for key, (_, until) in account.raises.items() if key[0] == name and until > at]
        if not live:
            return {"code": "raise_unknown"}
        del account.raises[live[0]]
        account.refresh("now", at)
        return {"budget": name}

    def correct(self, at: datetime, who: str, name: str, amount: int | None, key: str) -> Facts:
        """adjust, or with no amount reset; the key is used once."""
        account = self.account(who)
        known = self.asked.get((f"correction {key}", who))
        if known is not None:
            same = known[0] == (name, amount)
            return {**known[1], "replayed": True} if same else {"code": "request_id_conflict"}
        purse = next((p for p in account.budgets if p.name == name), None)
        if purse is None:
            return {"code": "budget_unknown"}
        window = account.window(purse, at)
        moved = -purse.settled(window, at) if amount is None else amount
        purse.correct(window, moved, at)
        facts = {"amount": moved, "settled": purse.settled(window, at), "replayed": False}
        self.asked[f"correction {key}", who] = ((name, amount), facts, None)
        return facts

    def publish(self, at: datetime, rate: int) -> Facts:
        """What is in effect already is not published once more: no table begins at this instant."""
        since, current = self.rates[-1] if self.rates else (None, None)
        if current == rate:
            return {"model": "m", "replayed": True}
        if since == at:
            return {"code": "price_table_conflict"}
        self.rates.append((at, rate))
        return {"model": "m", "replayed": False}

    def figures(self, who: str, at: datetime) -> dict[tuple[str, str], tuple[Any, ...]]:
        """What a balance says of an account."""
        found = {}
        for holder in self.account(who).path():
            for purse in holder.budgets:
                assert isinstance(purse, Purse)
                window = purse.current(at)
                plain = window.limit if window else purse.limit
                limit = None if plain is None else plain + purse.more(at)
                settled = purse.settled(window, at) if window else 0
                reserved = window.reserved(at) if window else 0
                left = None if limit is None else limit - settled - reserved
                found[holder.name, purse.name] = (limit, settled, reserved, left)
        return found

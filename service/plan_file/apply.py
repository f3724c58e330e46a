"""What a file would change in the ledger, and changing it: one call, one transaction each."""

from collections.abc import Iterator
from typing import Any, Literal

from service.plan_file.change import ABSENT, Change, Difference, Json, is_problem, joined, refused
from service.plan_file.document import Declared, DeclaredBudget
from service.plan_file.faults import PlanFileError
from service.plan_file.prices import price_changes
from service.plan_file.reader import Path, Source
from service.store import Connection, answer_of

__all__ = ["Change", "apply_changes", "changes_of"]

ACTOR = "preauth apply"
NOW: Json = {"apply": "now"}


class _Planner:
    """Compares a file with the ledger; reads only."""

    def __init__(
        self,
        connection: Connection,
        declared: Declared,
        source: Source,
        when: str,
        reason: str | None,
    ) -> None:
        self._connection = connection
        self._declared = declared
        self._source = source
        self._when: Json = {"apply": when}
        self._why: Json = {} if reason is None else {"reason": reason}

    def changes(self) -> Iterator[Change]:
        tables = self._declared.price_tables
        yield from price_changes(self._connection, tables, self._source, self._why)
        for plan_id in self._declared.plans:
            yield from self._plan(plan_id)
        for account_id in _parents_first(self._declared):
            yield from self._account(account_id)

    def _plan(self, plan_id: str) -> Iterator[Change]:
        at: Path = ("plans", plan_id)
        before = self._read("plan", plan_id=plan_id)
        has = {b["name"]: b for b in before["budgets"]} if before else {}
        plan = self._declared.plans[plan_id]
        wanted = self._budgets(plan.budgets, (*at, "budgets"))
        found = [*_of_budgets(joined(at), has, wanted)]
        unpriced = was = before["unpriced"] if before else "refuse"
        if "unpriced" in plan.model_fields_set:
            unpriced = plan.unpriced or "refuse"
        if unpriced != was:
            found.append((f"{joined(at)}.unpriced", was, unpriced))
        if found:
            said = {"budgets": list(wanted.values()), "unpriced": unpriced}
            body = {**said, **self._when, **self._why}
            yield Change(at, tuple(found), "put_plan", {"plan_id": plan_id, "body": body})

    def _account(self, account_id: str) -> Iterator[Change]:
        at: Path = ("accounts", account_id)
        before = self._read("account", account_id=account_id)
        account = self._declared.accounts[account_id]
        said = account.model_dump(mode="json", exclude_unset=True, exclude={"budgets"})
        there = before or {"status": "active", "time_zone": "UTC"}
        wanted = {k: "UTC" if (k, v) == ("time_zone", None) else v for k, v in said.items()}
        switched = before is not None and wanted.get("plan_id") is not None
        changed = {
            k: v
            for k, v in wanted.items()
            if there.get(k) != v and not (switched and k == "plan_id")
        }
        scheduled = there.get("next_plan_id")
        if scheduled is not None and wanted.get("plan_id", scheduled) is None:
            changed["plan_id"] = None
        if not before or changed:
            yield from self._fields(at, account_id, before, changed)
        if before and said.get("plan_id") is not None:
            yield from self._switch(at, account_id, before, said["plan_id"])
        if account.budgets is not None:
            has = {b["name"]: b for b in (before or {}).get("budgets", [])}
            yield from self._own_budgets(at, account_id, has, account.budgets)

    def _fields(
        self, at: Path, account_id: str, before: Json | None, changed: Json
    ) -> Iterator[Change]:
        path = joined(at)
        there = before or {}
        found = tuple(_of_field(path, k, there, v) for k, v in changed.items())
        new = () if before else ((path, ABSENT, "new"),)
        body = changed | self._why
        yield Change(at, (*new, *found), "put_account", {"account_id": account_id, "body": body})

    def _switch(self, at: Path, account_id: str, before: Json, plan_id: str) -> Iterator[Change]:
        """An account that is there changes plans by a call that knows about now and later.

        What is to be later is what counts for a change later; now, what is to be later counts too.
        """
        path = joined(at)
        later = before.get("next_plan_id", before["plan_id"])
        found: list[Difference] = []
        if plan_id != (before["plan_id"] if self._when == NOW else later):
            found.append((f"{path}.plan_id", before["plan_id"], plan_id))
        elif plan_id != later:
            found.append((f"{path}.next_plan_id", later, ABSENT))
        if found:
            body = {"plan_id": plan_id, **self._when, **self._why}
            arguments = {"account_id": account_id, "body": body}
            yield Change((*at, "plan_id"), tuple(found), "switch_plan", arguments)

    def _own_budgets(
        self, at: Path, account_id: str, has: dict[str, Json], budgets: list[DeclaredBudget]
    ) -> Iterator[Change]:
        wanted = self._budgets(budgets, (*at, "budgets"))
        places = {budget.name: place for place, budget in enumerate(budgets)}
        for name in [*wanted, *(name for name in has if name not in wanted)]:
            before = {name: has[name]} if name in has else {}
            after = {name: wanted[name]} if name in wanted else {}
            found = tuple(_of_budgets(joined(at), before, after))
            named = {"account_id": account_id, "name": name}
            if found and after:
                body = {**after[name], **self._when, **self._why}
                yield Change(
                    (*at, "budgets", places[name]), found, "put_budget", {**named, "body": body}
                )
            elif found:
                yield Change((*at, "budgets"), found, "delete_budget", {**named, **self._why})

    def _budgets(self, budgets: list[DeclaredBudget], at: Path) -> dict[str, Json]:
        """The budgets as the ledger would read them back."""
        found: dict[str, Json] = {}
        for place, budget in enumerate(budgets):
            body = budget.model_dump(mode="json", exclude_unset=True, exclude={"zero_is_meant"})
            answer = answer_of(self._connection, "preview_budget", body=body)
            if is_problem(answer):
                raise PlanFileError(refused(answer, (*at, place), self._source))
            found[budget.name] = answer
        return found

    def _read(self, function: str, **arguments: str) -> Json | None:
        answer: Json = answer_of(self._connection, function, **arguments)
        return None if is_problem(answer) else answer


def changes_of(
    connection: Connection,
    declared: Declared,
    source: Source,
    when: Literal["now", "next_window"] = "now",
    reason: str | None = None,
) -> list[Change]:
    """The calls that would bring the ledger to what the file says; none when it is there.

    Raises:
        PlanFileError: the ledger would refuse a budget.
    """
    return list(_Planner(connection, declared, source, when, reason).changes())


def apply_changes(
    connection: Connection, changes: list[Change], source: Source
) -> Iterator[Change]:
    """Make the calls, one transaction each; yields each one that was made.

    Raises:
        PlanFileError: the ledger refused one. Those before it were made.
    """
    for change in changes:
        answer = answer_of(connection, change.function, **change.arguments, actor=ACTOR)
        if is_problem(answer):
            raise PlanFileError(refused(answer, change.at, source))
        yield change


def _of_budgets(path: str, before: dict[str, Json], after: dict[str, Json]) -> Iterator[Difference]:
    for name in [*after, *(n for n in before if n not in after)]:
        where = f"{path}.budgets.{name}"
        if name not in before or name not in after:
            yield where, before.get(name, ABSENT), after.get(name, ABSENT)
            continue
        for key in {**before[name], **after[name]}:
            old, new = before[name].get(key, ABSENT), after[name].get(key, ABSENT)
            if old != new:
                yield f"{where}.{key}", old, new


def _of_field(path: str, name: str, there: Json, after: Any) -> Difference:
    """What a field changes: no plan where none is may cancel one to come."""
    before = there.get(name, ABSENT)
    if (name, before, after) == ("plan_id", None, None):
        return f"{path}.next_plan_id", there["next_plan_id"], ABSENT
    return f"{path}.{name}", before, after


def _parents_first(declared: Declared) -> list[str]:
    """The accounts in an order in which each parent that is declared comes before its children."""
    order: dict[str, None] = {}

    def add(account_id: str) -> None:
        account = declared.accounts.get(account_id)
        if account is not None and account_id not in order:
            if account.parent_id is not None:
                add(account.parent_id)
            order[account_id] = None

    for account_id in declared.accounts:
        add(account_id)
    return list(order)

"""Every check of a file that needs no database."""

import difflib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from zoneinfo import available_timezones

from pydantic import ValidationError

from service.api.price_tables import PriceTableFields
from service.api.strict import message_of, steps
from service.plan_file.document import Declared, DeclaredAccount, DeclaredBudget
from service.plan_file.faults import FileFault, PlanFileError
from service.plan_file.reader import Path, Source, read
from service.pricing.tables import with_variant

__all__ = ["check"]

MOST_ABOVE = 16
"""Accounts above another, that the ledger does not take any more."""


def check(text: str) -> tuple[Declared, Source]:
    """Read a file's text and check it.

    Raises:
        PlanFileError: something is wrong with it; all of what is.
    """
    source = read(text)
    if source.faults:
        raise PlanFileError(source.faults)
    declared = _shaped(source)
    if faults := list(_faults(declared, source)):
        raise PlanFileError(faults)
    return declared, source


def _shaped(source: Source) -> Declared:
    try:
        return Declared.model_validate(source.value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = [
            source.fault(steps(one["loc"], source.value), message_of(one["type"], one["msg"]))
            for one in found
        ]
        raise PlanFileError(faults) from None


def _faults(declared: Declared, source: Source) -> Iterator[FileFault]:
    yield from _of_prices(declared.price_tables, source)
    for plan_id, plan in declared.plans.items():
        yield from _of_budgets(plan.budgets, ("plans", plan_id, "budgets"), source)
    for account_id, account in declared.accounts.items():
        at: Path = ("accounts", account_id)
        yield from _of_account(account, at, source)
        yield from _of_budgets(account.budgets or [], (*at, "budgets"), source)
    yield from _of_tree(declared, source)


def _of_prices(tables: list[PriceTableFields], source: Source) -> Iterator[FileFault]:
    """Tables of one name supersede each other, so each has to say from when on it does."""
    times = Counter(_priced(table) for table in tables)
    for place, table in enumerate(tables):
        if times[_priced(table)] > 1 and table.effective_from is None:
            name = with_variant(table.model, table.variant)
            yield source.fault(
                ("price_tables", place),
                f"there is another table of {name}: each needs effective_from then",
            )


def _priced(table: PriceTableFields) -> tuple[str, str]:
    return with_variant(table.model, table.variant), table.unit or "usd_nano"


def _of_budgets(budgets: list[DeclaredBudget], at: Path, source: Source) -> Iterator[FileFault]:
    places: dict[str, int] = {}
    for place, budget in enumerate(budgets):
        if budget.name in places:
            first = source.line((*at, places[budget.name]))
            yield source.fault((*at, place), f"there is a budget {budget.name} in line {first} too")
        places.setdefault(budget.name, place)
        if budget.name == "max_open_holds":
            yield source.fault((*at, place, "name"), "is max_open_holds, a field of the account")
        yield from _of_zero(budget, (*at, place), source)


def _of_zero(budget: DeclaredBudget, at: Path, source: Source) -> Iterator[FileFault]:
    if budget.limit_amount == 0 and not budget.zero_is_meant:
        yield source.fault(
            (*at, "limit_amount"),
            "is 0, which denies every spend: for unlimited write null,"
            " and if 0 is meant, zero_is_meant: true beside it",
        )
    if budget.limit_amount != 0 and budget.zero_is_meant:
        yield source.fault((*at, "zero_is_meant"), "belongs beside limit_amount: 0 only")


def _of_account(account: DeclaredAccount, at: Path, source: Source) -> Iterator[FileFault]:
    if account.max_open_holds == 0:
        yield source.fault(
            (*at, "max_open_holds"),
            "is 0, which denies everything: for no bound write null,"
            " to stop the account status: suspended",
        )
    zone = account.time_zone
    if zone is not None and zone not in _zones():
        near = difflib.get_close_matches(zone, _zones(), 1)
        hint = f": perhaps {near[0]}" if near else ", such as Europe/Amsterdam"
        yield source.fault((*at, "time_zone"), f"{zone} is no IANA time zone{hint}")


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones() - {"Factory", "localtime", "posixrules"})


def _of_tree(declared: Declared, source: Source) -> Iterator[FileFault]:
    for account_id in declared.accounts:
        above = _above(account_id, declared)
        if account_id in above:
            ring = " under ".join([account_id, *above[: above.index(account_id) + 1]])
            yield source.fault(("accounts", account_id, "parent_id"), f"goes in a ring: {ring}")
        elif len(above) >= MOST_ABOVE:
            yield source.fault(
                ("accounts", account_id, "parent_id"), f"has {MOST_ABOVE} or more accounts above it"
            )


def _above(account_id: str, declared: Declared) -> list[str]:
    """The accounts above one, as far as the file says, and no more than are too many."""
    found: list[str] = []
    account = declared.accounts.get(account_id)
    while (
        account is not None
        and account.parent_id is not None
        and account.parent_id not in found
        and len(found) < MOST_ABOVE
    ):
        found.append(account.parent_id)
        account = declared.accounts.get(account.parent_id)
    return found

"""GET /audit/…: what answers support. Each asks the ``preauth_api.audit_…`` of its name."""

from litestar import Response, get
from pydantic import BaseModel

from service.api.answers.audit import (
    Adjustments,
    Changes,
    Decisions,
    Exceptions,
    PricesInUse,
    Spend,
    StuckHolds,
    Timeline,
    Verification,
    WhyDenied,
)
from service.api.calls import REASONS, AnyRequest
from service.api.operation import AUDIT, Operation, Parameter
from service.api.questions import (
    FORMAT,
    choice,
    count,
    identifier,
    instant,
    listing,
    reply,
    text,
)

__all__ = ["AUDITS"]

ACCOUNT = identifier("account_id", "Only of this account.")
WHOSE = identifier("account_id", "May be left out while request_id names one reservation.")
WHICH = identifier("request_id", "The reservation.", required=True)
SINCE = instant("since", "From this time on.")
UNTIL = instant("until", "Before this time.")
PERIOD = (
    instant("since", "From this time on.", required=True),
    instant("until", "Before this time.", required=True),
)


def _asks(
    summary: str,
    model: type[BaseModel],
    *query: Parameter,
    problems: tuple[str, ...] = (),
) -> Operation:
    return Operation(
        summary=summary,
        tag="Audit",
        roles=AUDIT,
        answers={200: model},
        query=query,
        problems=problems,
        csv=True,
    )


DECISIONS = _asks(
    "Decisions, the newest first",
    Decisions,
    *listing(
        ACCOUNT,
        identifier("request_id", "Only of this request."),
        SINCE,
        UNTIL,
        choice("decision", "Only those.", "authorized", "denied"),
        choice("reason", "Only denials for this reason.", *REASONS),
        identifier("model", "Only for this model."),
    ),
)
TIMELINE = _asks(
    "Everything that happened to a reservation",
    Timeline,
    WHICH,
    WHOSE,
    FORMAT,
    problems=("reservation_unknown", "account_id_required"),
)
WHY_DENIED = _asks(
    "A denial with the rows that proved it",
    WhyDenied,
    WHICH,
    WHOSE,
    count("max_count", "Most holds shown.", 1, 500),
    FORMAT,
    problems=("reservation_unknown", "account_id_required", "not_denied"),
)
STUCK = _asks(
    "Holds that a person must end, the oldest first",
    StuckHolds,
    *listing(ACCOUNT, count("older_than_seconds", "Only older ones.", 0, 999_999_999)),
)
EXCEPTIONS = _asks(
    "Overages, late settlements and recorded spend",
    Exceptions,
    *listing(ACCOUNT, choice("kind", "Only those.", "overage", "late", "recorded"), SINCE, UNTIL),
)
SPEND = _asks(
    "Spend by day, account, model or label",
    Spend,
    *listing(
        *PERIOD,
        text("by", "What to sum by, with commas: day, account, model, label. day unless said."),
        ACCOUNT,
        identifier("model", "Only for this model."),
        text("label", "With by=label: which label."),
        text("time_zone", "Whose days: an IANA name. UTC unless said."),
    ),
)
ADJUSTMENTS = _asks(
    "Corrections of what is settled and of limits", Adjustments, *listing(ACCOUNT, SINCE, UNTIL)
)
CHANGES = _asks(
    "Who changed which plan, account, budget or key",
    Changes,
    *listing(
        text("subject", "Only of this kind: plan, account, budget, api_key."),
        text("subject_id", "Only of this one; a budget is <owner>/<name>."),
        SINCE,
        UNTIL,
    ),
)
PRICES = _asks("Which price tables priced how much", PricesInUse, *listing(*PERIOD, ACCOUNT))
VERIFY = _asks("Whether the whole ledger adds up", Verification, FORMAT)


@get("/audit/decisions", opt={"operation": DECISIONS})
async def audit_decisions(request: AnyRequest) -> Response[bytes]:
    """Those that have all that is asked for."""
    return await reply(request, "decisions")


@get("/audit/timeline", opt={"operation": TIMELINE})
async def audit_timeline(request: AnyRequest) -> Response[bytes]:
    """The decision, every transition, every amount, and who. request_id is required."""
    return await reply(request, "timeline")


@get("/audit/why-denied", opt={"operation": WHY_DENIED})
async def audit_why_denied(request: AnyRequest) -> Response[bytes]:
    """What it had, and the holds that used the room. request_id is required."""
    return await reply(request, "why_denied")


@get("/audit/stuck", opt={"operation": STUCK})
async def audit_stuck(request: AnyRequest) -> Response[bytes]:
    """State unknown or overage_review."""
    return await reply(request, "stuck")


@get("/audit/exceptions", opt={"operation": EXCEPTIONS})
async def audit_exceptions(request: AnyRequest) -> Response[bytes]:
    """Spend that was not as authorized, the newest first."""
    return await reply(request, "exceptions")


@get("/audit/spend", opt={"operation": SPEND})
async def audit_spend(request: AnyRequest) -> Response[bytes]:
    """Sums by unit, reratings included and other corrections not. since and until are required."""
    return await reply(request, "spend")


@get("/audit/adjustments", opt={"operation": ADJUSTMENTS})
async def audit_adjustments(request: AnyRequest) -> Response[bytes]:
    """The newest first, with who and why."""
    return await reply(request, "adjustments")


@get("/audit/changes", opt={"operation": CHANGES})
async def audit_changes(request: AnyRequest) -> Response[bytes]:
    """Before, after, who and why, the newest first."""
    return await reply(request, "changes")


@get("/audit/prices", opt={"operation": PRICES})
async def audit_prices(request: AnyRequest) -> Response[bytes]:
    """By the time of the decision. since and until are required."""
    return await reply(request, "prices")


@get("/audit/verify", opt={"operation": VERIFY})
async def audit_verify(request: AnyRequest) -> Response[bytes]:
    """Recomputes every window from its rows: takes as long as the ledger is large."""
    return await reply(request, "verify")


AUDITS = [
    audit_decisions, audit_timeline, audit_why_denied, audit_stuck, audit_exceptions, audit_spend,
    audit_adjustments, audit_changes, audit_prices, audit_verify,
]  # fmt: skip

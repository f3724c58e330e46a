"""Which period an instant is in, said a second time: zoneinfo, lists of starts, nothing clever."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

__all__ = ["EPOCH", "Period", "ages_at", "first_instant", "period_at"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class Period(NamedTuple):
    """``nominal`` is the local time it is named after, which the clocks may have skipped."""

    nominal: datetime
    starts_at: datetime
    ends_at: datetime


def first_instant(local: datetime, zone: ZoneInfo) -> datetime:
    """The first instant at which clocks in the zone show ``local`` or later."""
    shows = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    exact = [at for at in shows if at.astimezone(zone).replace(tzinfo=None) == local]
    if exact:
        return min(exact)
    low, high = min(shows) - DAY, max(shows) + DAY
    while high - low > timedelta(microseconds=1):
        middle = low + (high - low) // 2
        if middle.astimezone(zone).replace(tzinfo=None) >= local:
            high = middle
        else:
            low = middle
    return high


def period_at(policy: dict[str, Any], anchor: date, zone_name: str, at: datetime) -> Period:
    """The calendar period or cycle around an instant: the last one that has begun."""
    zone = ZoneInfo(zone_name)
    local = at.astimezone(zone).replace(tzinfo=None)
    starts = [(first_instant(n, zone), n) for n in _nominal_starts(policy, anchor, local)]
    begun = max(s for s in starts if s[0] <= at)
    return Period(begun[1], begun[0], min(s[0] for s in starts if s[0] > at))


def _nominal_starts(policy: dict[str, Any], anchor: date, local: datetime) -> Iterator[datetime]:
    """Local starts of the periods from well before ``local`` to well after."""
    if policy["kind"] == "cycle":
        step = 12 if policy["period"] == "year" else 1
        around = (local.year - anchor.year) * 12 + local.month - anchor.month
        for n in range(around // step - 2, around // step + 4):
            yield _midnight(_months_after(anchor, n * step))
    elif policy["period"] == "hour":
        for n in range(-30, 31):
            yield local.replace(minute=0, second=0, microsecond=0) + timedelta(hours=n)
    else:
        days = [local.date() + timedelta(days=n) for n in range(-800, 800)]
        for day in days if policy["period"] in {"year", "quarter"} else days[740:860]:
            if _begins_on(policy, day):
                yield _midnight(day)


def _begins_on(policy: dict[str, Any], day: date) -> bool:
    first_month = policy.get("year_start_month", 1)
    match policy["period"]:
        case "day":
            return True
        case "week":
            return WEEKDAYS[day.weekday()] == policy.get("week_start", "monday")
        case "month":
            return day.day == 1
        case "quarter":
            return day.day == 1 and (day.month - first_month) % 3 == 0
        case _:
            return day.day == 1 and day.month == first_month


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001


def _months_after(anchor: date, months: int) -> date:
    """The anchor's day so many months later, or that month's last day."""
    year, month = divmod(anchor.year * 12 + anchor.month - 1 + months, 12)
    for day in range(anchor.day, 27, -1):
        try:
            return date(year, month + 1, day)
        except ValueError:
            continue
    return date(year, month + 1, min(anchor.day, 28))


def ages_at(policy: dict[str, Any], at: datetime) -> datetime:
    """When a spend at an instant stops counting: its slice's end, and a whole period more."""
    length = timedelta(seconds=policy["seconds"]) / policy["slices"]
    return EPOCH + ((at - EPOCH) // length + 1 + policy["slices"]) * length

"""What a calendar window must be, said a second time with Python's zoneinfo."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

__all__ = ["WEEKDAYS", "day_start", "period_of"]

WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def day_start(day: date, zone: str) -> datetime:
    """The first instant of a local date: its first midnight, or where the clocks skipped it to."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone), fold=0)
    return midnight.astimezone(UTC)


def _month(day: date, ahead: int) -> date:
    months = day.year * 12 + day.month - 1 + ahead
    return date(months // 12, months % 12 + 1, 1)


def _dates_of(policy: dict[str, object], day: date) -> tuple[date, date]:
    """First date of the period that ``day`` is in, and first date after it."""
    period = policy["period"]
    if period == "day":
        return day, day + timedelta(days=1)
    if period == "week":
        first = WEEKDAYS.index(str(policy.get("week_start", "monday")))
        start = day - timedelta(days=(day.weekday() - first) % 7)
        return start, start + timedelta(days=7)
    length = {"month": 1, "quarter": 3, "year": 12}[str(period)]
    first_month = int(str(policy.get("year_start_month", 1)))
    start = _month(day, -((day.month - first_month) % length))
    return start, _month(start, length)


def period_of(policy: dict[str, object], zone: str, instant: datetime) -> tuple[datetime, datetime]:
    """Start and end of the window that the instant is in."""
    day = instant.astimezone(ZoneInfo(zone)).date()
    start, end = (day_start(d, zone) for d in _dates_of(policy, day))
    if instant >= end:  # the clocks went back over midnight: the next period has begun already
        return period_of(policy, zone, end + timedelta(hours=2))
    return start, end

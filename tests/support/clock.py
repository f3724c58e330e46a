"""A test clock that every connection to a database reads instead of the wall clock."""

from datetime import UTC, datetime, timedelta

import psycopg

__all__ = ["NOON", "Clock"]

NOON = datetime(2026, 9, 14, 12, tzinfo=UTC)
"""Where every test clock starts: Monday 14 September 2026, 12:00 UTC."""

INSTALL = """
create schema test_clock;
create table test_clock.now (at timestamptz not null);
insert into test_clock.now values ('2026-09-14T12:00:00Z');
grant usage on schema test_clock to public;
grant select on test_clock.now to public;
create or replace function preauth._now() returns timestamptz
language sql volatile set search_path = pg_catalog, pg_temp
as 'select at from test_clock.now';
"""


class Clock:
    """Replaces ``preauth._now()`` in one database; time stands still until it is moved."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(INSTALL.encode())

    def close(self) -> None:
        self._connection.close()

    @property
    def now(self) -> datetime:
        row = self._connection.execute("select at from test_clock.now").fetchone()
        assert row is not None
        at: datetime = row[0]
        return at.astimezone(UTC)

    def set(self, instant: datetime | str) -> datetime:
        """Move to an instant (RFC 3339 text or an aware datetime)."""
        at = datetime.fromisoformat(instant) if isinstance(instant, str) else instant
        self._connection.execute("update test_clock.now set at = %s", [at])
        return at

    def advance(self, **duration: float) -> datetime:
        """Move forward: ``advance(seconds=5)``, ``advance(milliseconds=1)``."""
        return self.set(self.now + timedelta(**duration))

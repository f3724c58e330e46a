"""Assertions in the contract's words."""

from datetime import UTC, datetime

from tests.support.money import Json

__all__ = [
    "assert_denied",
    "assert_problem",
    "assert_same",
    "at",
    "authorized",
    "code_of",
    "denied",
    "rfc3339",
]


def code_of(problem: Json) -> str:
    """The last segment of a problem's type."""
    return str(problem["type"]).rsplit("/", 1)[-1]


def assert_problem(body: Json, status: int, code: str) -> None:
    """A refusal of that status and code, complete for a reader."""
    assert "status" in body, f"not a problem: {body}"
    assert (body["status"], code_of(body)) == (status, code), body
    assert body["title"], body
    assert body["detail"], body


def assert_denied(body: Json, reason: str, **members: object) -> None:
    """A denial for that reason with those members."""
    assert body.get("decision") == "denied", body
    assert body["reason"] == reason, body
    assert body["status"] in {402, 429}, body
    got = {name: body.get(name) for name in members}
    assert got == members, body


def assert_same(first: Json, again: Json) -> None:
    """Equal but for ``replayed``, which tells the first from the others."""
    assert first["replayed"] is False, first
    assert again == {**first, "replayed": True}


def authorized(replies: list[Json]) -> list[Json]:
    return [r for r in replies if r.get("decision") == "authorized"]


def denied(replies: list[Json]) -> list[Json]:
    return [r for r in replies if r.get("decision") == "denied"]


def at(text: str) -> datetime:
    """An output time: RFC 3339, in UTC."""
    instant = datetime.fromisoformat(text)
    assert instant.utcoffset() == UTC.utcoffset(None), text
    return instant


def rfc3339(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")

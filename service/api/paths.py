"""Ids in URL paths. An id may hold ``/`` and ``:``, and may be sent percent-encoded or plain.

``/accounts/org%2Fteam/balance`` and ``/accounts/org/team/balance`` are the same resource. What
follows an id is known (``balance``, ``budgets/<name>``, ``resolve``, …), so the id is everything
before it; an encoded slash is never taken for structure. Only an id that itself ends like a
sub-resource (``org/balance``) has to be sent encoded.

The router gets each id as one encoded segment, and `path_id` decodes it again.
"""

import re
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from service.api.problems import Fault, malformed
from service.api.values import ID_PATTERN, NAME_PATTERN

__all__ = ["path_id", "path_name", "unify"]

_SUB_RESOURCES: dict[str, tuple[tuple[str | None, ...], ...]] = {
    "accounts": (
        ("balance",),
        ("plan",),
        ("adjustments",),
        ("reset",),
        ("budgets", None),
        ("budgets", None, "raise"),
    ),
    "reservations": (("resolve",),),
    "plans": (),
    "keys": (),
}
_ID = re.compile(ID_PATTERN.removeprefix("^").removesuffix("$"))
_NAME = re.compile(NAME_PATTERN.removeprefix("^").removesuffix("$"))


def unify(scope: Any) -> None:
    """Rewrite a path with an id in it so that the id is one segment for the router."""
    path: str = scope["path"]
    collection = path[1:].partition("/")[0]
    if collection not in _SUB_RESOURCES or len(path) <= len(collection) + 2:
        return
    raw: bytes = scope.get("raw_path") or quote(path).encode()
    segments = [_decoded(segment) for segment in raw.partition(b"?")[0].split(b"/")[2:]]
    tail = _tail(collection, segments)
    head = "/".join(segments[: len(segments) - tail])
    scope["path"] = "/".join(["", collection, _encoded(head), *map(_encoded, segments[-tail:])]
                             if tail else ["", collection, _encoded(head)])  # fmt: skip


def _tail(collection: str, segments: list[str]) -> int:
    """How many segments at the end are structure."""
    for pattern in _SUB_RESOURCES[collection]:
        size = len(pattern)
        ending = segments[-size:]
        if len(segments) > size and all(
            want is None or want == have for want, have in zip(pattern, ending, strict=True)
        ):
            return size
    return 0


def _decoded(segment: bytes) -> str:
    return unquote_to_bytes(segment).decode("utf-8", "replace")


def _encoded(segment: str) -> str:
    """One segment; ``%`` alone, which nothing encodes to, for the empty one."""
    return quote(segment, safe="") or "%"


def path_id(value: str, name: str) -> str:
    """The id that a segment stands for.

    Raises:
        Problem: 400 when it is no id.
    """
    found = _decoded(value.encode())
    if not _ID.fullmatch(found):
        raise malformed([Fault(name, "must be 1 to 128 characters of A-Z a-z 0-9 _ . : @ / -")])
    return found


def path_name(value: str) -> str:
    """The budget's name that a segment stands for.

    Raises:
        Problem: 400 when it is no name.
    """
    found = _decoded(value.encode())
    if not _NAME.fullmatch(found):
        raise malformed([Fault("name", "must be 1 to 64 characters: a-z, then a-z 0-9 _ . -")])
    return found

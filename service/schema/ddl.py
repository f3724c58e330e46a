"""The statements that bring one catalog to another. What they cannot express is written by hand."""

from collections.abc import Callable, Iterable, Iterator

from service.schema.catalog import Catalog, Difference, Thing, differences

__all__ = ["statements"]

CREATE_ORDER = (
    "schema",
    "type",
    "sequence",
    "table",
    "column",
    "function",
    "constraint",
    "index",
    "view",
    "trigger",
    "security",
    "policy",
)
DROP_ORDER = ("policy", "trigger", "view", "index", "constraint", "function", "column", "table")
REMADE = {"policy", "trigger", "view", "index", "constraint"}
"""Kinds that are dropped and made again when their text changes."""

FOREIGN_KEY = "FOREIGN KEY"

Write = Callable[[Difference], Iterator[str]]


def statements(before: Catalog, after: Catalog) -> list[str]:
    """SQL statements, in an order that works, from ``before`` to ``after``."""
    changed = _with_all_views(differences(before, after), before, after)
    made_at = {thing: number for number, thing in enumerate(before)}
    newest_first = sorted(changed, key=lambda d: -made_at.get(d.thing, 0))
    return [
        *_in_order(DROP_ORDER, newest_first, _drop),
        *_in_order(CREATE_ORDER, changed, _create),
        *_grants(_about_what_is_there(changed, after), _rebuilt(changed, after)),
        *_comments(_about_what_is_there(changed, after), _rebuilt(changed, after)),
    ]


def _with_all_views(found: list[Difference], before: Catalog, after: Catalog) -> list[Difference]:
    """When a view or what views read changes, all are made again: they build on each other."""
    kinds = {d.thing.kind for d in found if d.before is not None}
    if not kinds & {"view", "column", "type"}:
        return found
    views = [thing for thing in {**before, **after} if thing.kind == "view"]
    others = [d for d in found if d.thing.kind != "view"]
    return others + [Difference(view, before.get(view), after.get(view)) for view in views]


def _in_order(kinds: Iterable[str], changed: list[Difference], write: Write) -> Iterator[str]:
    for kind in kinds:
        of_kind = [d for d in changed if d.thing.kind == kind]
        for difference in sorted(of_kind, key=_foreign_keys_last):  # stable: else as they stand
            yield from write(difference)


def _foreign_keys_last(difference: Difference) -> bool:
    return (difference.after or "").startswith(FOREIGN_KEY)


def _drop(difference: Difference) -> Iterator[str]:
    """Remove what is gone, and what cannot be replaced where it stands."""
    (kind, name), before, after = difference
    if before is None:
        return
    if kind == "function":
        if after is None or _result(before) != _result(after):
            yield f"drop {_routine(before)} {name};"
    elif kind in REMADE or after is None:
        yield _drop_text(kind, name)


def _drop_text(kind: str, name: str) -> str:
    owner, _, part = name.rpartition(".")
    if kind in {"column", "constraint"}:
        return f"alter table {owner} drop {kind} {part};"
    if kind in {"trigger", "policy"}:
        return f"drop {kind} {part} on {owner};"
    return f"drop {kind} {name};"


def _create(difference: Difference) -> Iterator[str]:
    """Make what is new, replace what has changed."""
    (kind, name), before, after = difference
    if after is None:
        return
    owner, _, part = name.rpartition(".")
    if kind == "column":
        yield from _column(owner, part, before, after)
    elif kind == "constraint":
        yield f"alter table {owner} add constraint {part} {after};"
    elif kind == "security":
        yield f"alter table {name} {after};"
    elif kind in REMADE or kind == "function" or before is None:
        yield f"{after.rstrip().rstrip(';')};"


def _column(table: str, column: str, before: str | None, after: str) -> Iterator[str]:
    """Add a column; of changes, only those of default and nullability lose nothing."""
    if before is None:
        yield f"alter table {table} add column {column} {after};"
        return
    (old, old_default, old_null), (new, new_default, new_null) = _parts(before), _parts(after)
    if old != new:
        return
    where = f"alter table {table} alter column {column}"
    if old_default != new_default:
        yield f"{where} set default {new_default};" if new_default else f"{where} drop default;"
    if old_null != new_null:
        yield f"{where} {'set' if new_null else 'drop'} not null;"


def _parts(definition: str) -> tuple[str, str, bool]:
    """A column's type, its default, and whether it is not null."""
    text = definition.removesuffix(" not null")
    kind, _, default = text.partition(" default ")
    return kind, default, text != definition


def _result(definition: str) -> str:
    """Name, arguments and result: what ``create or replace`` must not change."""
    return definition.partition("\n LANGUAGE ")[0]


def _routine(definition: str) -> str:
    return "procedure" if " PROCEDURE " in definition.partition("(")[0] else "function"


def _rebuilt(changed: list[Difference], after: Catalog) -> list[Difference]:
    """Grants and comments of what is made or made again: it starts with the default ones."""
    names = {d.thing.name for d in changed if d.after is not None and _is_new(d)}
    return [
        Difference(thing, None, text)
        for thing, text in sorted(after.items())
        if thing.kind in {"grant", "comment"} and any(f" {n}" in f" {thing.name}" for n in names)
    ]


def _about_what_is_there(changed: list[Difference], after: Catalog) -> list[Difference]:
    """Without the grants and comments that went with what they were about."""
    names = {name for thing in after for name in _names(thing)}
    return [
        d
        for d in changed
        if d.thing.kind not in {"grant", "comment"}
        or any(f" {n} " in f"{d.thing.name} " for n in names)
    ]


def _names(thing: Thing) -> tuple[str, ...]:
    """How grants and comments may call it."""
    if thing.kind in {"grant", "comment", "owner"}:
        return ()
    owner, _, part = thing.name.rpartition(".")
    return (f"{part} on {owner}",) if thing.kind == "constraint" else (thing.name,)


def _is_new(difference: Difference) -> bool:
    (kind, _), before, after = difference
    if before is None or kind in REMADE:
        return True
    return kind == "function" and _result(before) != _result(after or "")


def _grants(changed: list[Difference], rebuilt: list[Difference]) -> Iterator[str]:
    new = {d.thing for d in changed if d.before is None and d.after is not None}
    for difference in changed:
        (kind, name), before, after = difference
        if kind == "function" and _is_new(difference) and after is not None:
            yield f"revoke all on {_routine(after)} {name} from public;"
        elif kind == "type" and Thing(kind, name) in new:
            yield f"revoke all on type {name} from public;"
        elif kind == "grant" and before is not None and after is None:
            yield _revoke(before)
    for text in sorted(
        {d.after for d in [*changed, *rebuilt] if d.thing.kind == "grant" and d.after}
    ):
        yield f"{text};"


def _revoke(grant: str) -> str:
    what, _, to = grant.removesuffix(" with grant option").rpartition(" to ")
    return f"revoke {what.removeprefix('grant ')} from {to};"


def _comments(changed: list[Difference], rebuilt: list[Difference]) -> Iterator[str]:
    for difference in changed:
        thing, before, after = difference
        if thing.kind == "comment" and before is not None and after is None:
            yield f"comment on {thing.name} is null;"
    for text in sorted(
        {d.after for d in [*changed, *rebuilt] if d.thing.kind == "comment" and d.after}
    ):
        yield f"{text};"

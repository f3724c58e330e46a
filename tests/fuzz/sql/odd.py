"""Odd values of every argument type, as the text that PostgreSQL is asked to read as one."""

import json
from typing import Any

from hypothesis import strategies as st

__all__ = ["ODD", "mutated", "odd_json"]

IDS = [
    "ann",
    "org",
    "bob",
    "p",
    "q",
    "cap",
    "own",
    "usd",
    "m",
    "held",
    "settled",
    "denied",
    "released",
    "nobody",
    "max_open_holds",
]
WORDS = [
    "now",
    "next_window",
    "tokens",
    "usd_nano",
    "settle",
    "unknown",
    "2026-09",
    "lifetime",
    "UTC",
    "Europe/Amsterdam",
    "day",
    "overage",
]
NUMBERS = [
    "0", "1", "-1", "7", "512", "2147483647", "2147483648", "9007199254740991", "9007199254740992",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e3", "7.0", "7.5", "1e400", "-0",
]  # fmt: skip
TIMES = [
    "2026-09-14T12:00:00Z", "2026-09-01T00:00:00Z", "2026-10-01T00:00:00+15:59", "2026-10-01T00:00:00+23:59",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "infinity", "-infinity", "294276-12-31 00:00Z", "4713-01-01 00:00Z BC",
    "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "yesterday", "12:00", "",
]  # fmt: skip

# What no connection can send as text is left out: a NUL and lone surrogates.
characters = st.characters(codec="utf-8", exclude_characters="\x00")
texts = (
    st.sampled_from([*IDS, *WORDS, *TIMES, "", " ", "%", "a" * 128, "a" * 129, "x" * 5000, "ä", "a\n", "\ufeff", "a~b~c", "2026-09-14T12:00:00Z~a~b", "infinity~~", "2026-01-01T00:00:00+99:00~~", "~", "forgotten:1"])
    | st.text(characters, max_size=12)
)  # fmt: skip
scalars = (
    st.sampled_from(["null", "true", "false", "NaN", "Infinity", '"\\u0000"', '"\\ud800"', "[]", "{}", '""', *NUMBERS])
    | st.integers(-3, 200).map(str)
    | texts.map(json.dumps)
)  # fmt: skip
keys = st.sampled_from(["tokens", "usd_nano", "kind", "period", "name", "budgets", "window", "input_tokens", "", "\\u0000"]) | st.text(characters, max_size=4)  # fmt: skip


def _object(pairs: list[tuple[str, str]]) -> str:
    return (
        "{"
        + ", ".join(f'"{k}": {v}' if "\\" in k else f"{json.dumps(k)}: {v}" for k, v in pairs)
        + "}"
    )


nested = st.sampled_from([("[", "]"), ('{"a": ', "}")]).flatmap(
    lambda ends: st.sampled_from([3, 60, 900, 20_000]).map(lambda deep: ends[0] * deep + "1" + ends[1] * deep)
)  # fmt: skip
odd_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(keys, inner), max_size=3).map(_object)
    ),
    max_leaves=6,
) | st.one_of(
    nested,
    st.sampled_from(["", "{", "nul", "[1,]", "[" + "1," * 600 + "1]", "[" + "{}," * 511 + "{}]"]),
)

arrays = st.sampled_from(
    ["{}", "{ann}", "{NULL}", "{ann,NULL,org}", "{{a},{b}}", "[0:1]={a,b}", "[5:6]={a,b}", "{day,account,model}", "{label}", "{", '{""}']
)  # fmt: skip

ODD: dict[str, st.SearchStrategy[str | None]] = {
    "text": texts,
    "integer": st.sampled_from([*NUMBERS, "", "x"]) | st.integers(-3, 600).map(str),
    "bigint": st.sampled_from([*NUMBERS, "", "x"]) | st.integers(-3, 9).map(str),
    "boolean": st.sampled_from(["true", "false", "yes", "", "2"]),
    "timestamp with time zone": st.sampled_from(TIMES),
    "bytea": st.sampled_from(["\\x" + "ab" * 32, "\\x", "\\xab", "\\xzz", "plain"]),
    "text[]": arrays,
    "bigint[]": st.sampled_from(
        ["{}", "{1}", "{1,1,NULL}", "{{1},{2}}", "{99999999999999999999}", "{a}", "1"]
    ),
    "jsonb": odd_json,
}


@st.composite
def mutated(draw: st.DrawFn, value: Any) -> str:
    """A good JSON value with one part left out, doubled under another name, or replaced by an odd one."""
    places = list(_places(value, ()))
    text = json.dumps(value)
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.sampled_from(places))
        mark = f"<{draw(st.integers(0, 10**9))}>"
        marked = _replaced(json.loads(text), place, mark) if text.startswith(("{", "[")) else mark
        text = json.dumps(marked).replace(json.dumps(mark), draw(odd_json))
        try:
            places = list(_places(json.loads(text), ()))
        except (ValueError, RecursionError):
            break
    return text


def _places(value: Any, path: tuple[Any, ...]) -> Any:
    yield path
    if isinstance(value, dict):
        yield (*path, "extra")
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*path, index))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        return {**value, key: _replaced(value.get(key), tuple(rest), new)}
    return [_replaced(item, tuple(rest), new) if n == key else item for n, item in enumerate(value)]

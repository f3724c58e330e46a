"""Values that are not what they seem, for every call that takes them."""

from typing import Any

__all__ = ["BAD_AMOUNTS", "BAD_IDS", "BAD_LABELS", "BAD_TTLS", "broken"]

BAD_IDS: dict[str, Any] = {
    "empty": "",
    "129 characters": "a" * 129,
    "a space": "a b",
    "a newline at the end": "a\n",
    "a letter outside ASCII": "ä",
    "a number": 7,
    "a list": ["a"],
    "an object": {"a": 1},
    "null": None,
    "true": True,
    "a percent sign": "100%",
}

BAD_AMOUNTS: dict[str, Any] = {
    "an amount as text": {"tokens": "7"},
    "an amount with a decimal point": {"tokens": 7.0},
    "a fraction": {"tokens": 7.5},
    "true": {"tokens": True},
    "null": {"tokens": None},
    "minus one": {"tokens": -1},
    "2 to the 53": {"tokens": 2**53},
    "2 to the 64": {"tokens": 2**64},
    "2 to the 200": {"tokens": 2**200},
    "a list": {"tokens": [7]},
    "an object": {"tokens": {"max": 7}},
    "no unit at all": {},
    "no object": [7],
    "a bare number": 7,
    "text": "7",
    "a unit in capitals": {"Tokens": 7},
    "a unit that starts with a digit": {"1st": 7},
    "a unit with a hyphen": {"usd-nano": 7},
    "an empty unit": {"": 7},
    "a unit of 33 characters": {"u" * 33: 7},
    "17 units": {f"unit_{n}": 1 for n in range(17)},
}

BAD_TTLS: dict[str, Any] = {
    "zero": 0,
    "minus one": -1,
    "a day and a second": 86401,
    "text": "120",
    "a decimal point": 120.0,
    "true": True,
    "a list": [120],
    "beyond any integer": 2**70,
}

BAD_LABELS: dict[str, Any] = {
    "a list": ["a"],
    "text": "a",
    "a number as value": {"team": 7},
    "null as value": {"team": None},
    "an empty value": {"team": ""},
    "a value of 129 characters": {"team": "v" * 129},
    "a control character": {"team": "a\tb"},
    "a key in capitals": {"Team": "a"},
    "a key of 33 characters": {"k" * 33: "a"},
    "17 labels": {f"l{n}": "v" for n in range(17)},
}


def broken(member: str, values: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """Cases by a readable id: one wrong value of one member each."""
    return {f"{member}: {why}": (member, value) for why, value in values.items()}

"""Each promise of docs/guarantees.md has a mechanism and a test, and both are there."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
LINK = re.compile(r"\[`(\w[\w./]*)`\]\((\.\./[\w/.]+)\)")


def promises() -> list[list[str]]:
    text = (DOCS / "guarantees.md").read_text("utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] != "| promise"]


def test_there_are_promises() -> None:
    assert len(promises()) > 30


@pytest.mark.parametrize("row", promises(), ids=lambda row: row[0].removeprefix("| ")[:60])
def test_a_promise_names_a_mechanism_and_tests_that_are_there(row: list[str]) -> None:
    promise, mechanism, tests = row
    assert promise
    assert mechanism
    for name, file in LINK.findall(mechanism):
        assert (DOCS / file).resolve().name == name
        assert (DOCS / file).resolve().is_file(), file
    found = LINK.findall(tests)
    assert found, promise
    for name, file in found:
        text = (DOCS / file).resolve().read_text("utf-8")
        assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), name

"""Each line of docs/changes.md has its test."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
LINK = re.compile(r"\[`(\w+(?:\.py)?)`\]\((\.\./tests/[\w/.]+)\)")


def lines() -> list[str]:
    text = (DOCS / "changes.md").read_text("utf-8")
    return [line for line in text.splitlines() if line.startswith("| ")][1:]


def test_each_line_of_the_table_names_a_test_that_is_there() -> None:
    assert len(lines()) > 20
    for line in lines():
        found = LINK.findall(line)
        assert found, line
        for name, file in found:
            text = (DOCS / file).resolve().read_text("utf-8")
            assert name.endswith(".py") or re.search(
                rf"^(async )?def {name}\(", text, re.MULTILINE
            ), name

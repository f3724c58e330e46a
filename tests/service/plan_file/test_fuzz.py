"""Whatever a file says: it is read, or refused by faults that each have a line and a path."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.plan_file import Declared, PlanFileError, Source, changes_of, check
from service.store import Connection
from tests.service.plan_file.test_checks import GOOD

LINES = GOOD.splitlines(keepends=True)
WORDS = sorted(
    {word for line in LINES for word in line.replace(",", " ").replace("{", " ").split()}
)
ODD = [
    "null", "~", "", "[]", "{}", "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", "*rate", "*none", "&a", "!!python/none x",
    "<<", "? a", "- ", ":", "---", "...", "%YAML 9.9", "|", ">", '"\\u0000"', "'", "\t", "\x85", "0x1f", "1e999", ".5", "-0", "-1",
    "9007199254740991", "9007199254740992", "9" * 5000, "1" * 400 + ".5", "yes", "0100", "2026-02-30", "calendar", "rolling", "suspended",
    "max_open_holds", "Europe/Amsterdm", "a" * 129, "ä", "\U0001f4b8", '"\\ud800"', '"\\Uffffffff"', "zero_is_meant: true", "thresholds: [80, 80]", "rollover: {max: 5}",
    "model: m", "overdraft_amount: 5", "parent_id: user:1",
]  # fmt: skip
printable = st.text(st.characters(codec="utf-8"), max_size=20)
tokens = st.sampled_from([*WORDS, *ODD]) | printable


OF_THE_WHOLE = (
    "not YAML", "the file is empty", "nested too deeply", "must be an object", "has a key that is no text",
    "has a merge key", "has the tag", "has no value", "is a number of too many digits",
    "has half of a surrogate pair", "a key has half of a surrogate pair",
)  # fmt: skip
"""What may be wrong where there is no path yet."""


@st.composite
def edited(draw: st.DrawFn) -> str:
    """A good file of which words are others, and lines are gone, doubled or elsewhere."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["word", "word", "word", "drop", "double", "insert", "indent"])):
            case "word":
                words = lines[place].rstrip("\n").split(" ")
                words[draw(st.integers(0, len(words) - 1))] = draw(tokens)
                lines[place] = " ".join(words) + "\n"
            case "drop" if len(lines) > 1:
                del lines[place]
            case "double":
                lines.insert(place, lines[place])
            case "insert":
                lines.insert(place, " " * draw(st.integers(0, 12)) + draw(tokens) + "\n")
            case _:
                lines[place] = " " * draw(st.integers(1, 4)) + lines[place]
    return "".join(lines)


def read(text: str) -> tuple[Declared, Source] | None:
    """What a file says, or nothing where it is refused as it should be."""
    try:
        return check(text)
    except PlanFileError as error:
        are_told(error, text)
        return None


def are_told(refusal: PlanFileError, text: str) -> None:
    """Each fault has a line of the file, a path, and words that can be printed."""
    assert refusal.faults
    for fault in refusal.faults:
        assert 1 <= fault.line <= len(text.splitlines()) + 1, fault
        assert fault.message
        assert fault.path or fault.message.startswith(OF_THE_WHOLE), fault
    assert str(refusal).encode()


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(edited() | printable | st.lists(tokens, max_size=12).map(" ".join))
def test_a_file_is_read_or_refused_line_by_line(text: str) -> None:
    if read(text) is not None:
        assert read(text) is not None


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000])
def test_a_number_of_thousands_of_digits_is_refused_where_it_stands(number: str) -> None:
    with pytest.raises(PlanFileError) as refused:
        check(GOOD.replace("500_000_000", number))
    (fault,) = refused.value.faults
    assert (fault.line, fault.path) == (7, "plans.free.budgets.0.limit_amount")


async def test_a_file_that_the_ledger_refuses_writes_nothing(ledger, clock, database_url) -> None:
    before = await ledger.contents()

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(edited())
    def compared(text: str) -> None:
        found = read(text)
        if found is not None:
            _compare(connection, *found, text)

    with Connection.connect(database_url, autocommit=True) as connection:
        compared()
    assert await ledger.contents() == before


def _compare(connection: Connection, declared: Declared, source: Source, text: str) -> None:
    """The comparison with the ledger only reads; what the ledger would refuse has a line too."""
    try:
        for change in changes_of(connection, declared, source):
            assert list(change.lines()) is not None
    except PlanFileError as error:
        are_told(error, text)

"""The list of mutants is in order: each still changes something, still loads, and names its tests."""

from dataclasses import replace

import psycopg
import pytest

from service.schema import load
from tests.mutants.mutant import Mutant, mutants

HERE = "tests/mutants/test_mutants.py"
AREAS = {"access", "admission", "changes", "lifecycle", "plainly", "prices", "windows"}
ALL = mutants()
SOUND = [mutant for mutant in ALL if not list(mutant.faults())]
FUNCTIONS = [mutant for mutant in SOUND if mutant.is_function]
OTHERS = [mutant for mutant in SOUND if not mutant.is_function]


def test_there_are_mutants_of_every_area():
    assert len(ALL) >= 150
    assert {mutant.area for mutant in ALL} == AREAS


def test_no_name_is_twice():
    assert len({mutant.name for mutant in ALL}) == len(ALL)


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_its_snippet_is_in_the_file_exactly_once_and_its_tests_are_there(mutant):
    assert list(mutant.faults()) == []


def test_a_mutant_that_can_be_applied_no_more_says_why():
    gone = Mutant("gone", "access", "040_internal/_gone.sql", "a", "b", ())
    assert list(gone.faults()) == ["sql/040_internal/_gone.sql is not there", "it names no test"]
    lost = replace(ALL[0], find="nobody wrote this", tests=("tests/nowhere.py", f"{HERE}::test_x"))
    assert list(lost.faults()) == [
        f"sql/{lost.file} has 0 times, not once: 'nobody wrote this'",
        "tests/nowhere.py is not there",
        f"{HERE} has no test_x",
    ]


def test_each_mutated_function_is_a_function(database_url):
    """With its body checked, which loading the ledger leaves out."""
    faults = {}
    with psycopg.connect(database_url) as connection:
        for mutant in FUNCTIONS:
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(mutant.replacement.encode())
            except psycopg.Error as error:
                faults[mutant.name] = str(error)
    assert faults == {}


@pytest.mark.parametrize("mutant", OTHERS, ids=lambda mutant: mutant.name)
def test_the_ledger_loads_with_any_other(mutant, empty_database_url, tmp_path):
    with psycopg.connect(empty_database_url) as connection:
        load(connection, mutant.write(tmp_path))

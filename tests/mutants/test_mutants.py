"""The list of mutants is in order: each still changes something, still loads, and names its tests."""

from itertools import chain

import psycopg
import pytest

from service.schema import load
from tests.mutants.mutant import ROOT, mutants

AREAS = {"access", "admission", "changes", "lifecycle", "prices", "windows"}
ALL = mutants()
FUNCTIONS = [mutant for mutant in ALL if mutant.is_function]
OTHERS = [mutant for mutant in ALL if not mutant.is_function]


def test_there_are_mutants_of_every_area():
    assert len(ALL) >= 150
    assert {mutant.area for mutant in ALL} == AREAS


def test_no_name_is_twice():
    assert len({mutant.name for mutant in ALL}) == len(ALL)


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_its_snippet_is_in_the_file_exactly_once(mutant):
    assert mutant.mutated != mutant.text


def test_its_tests_are_there():
    for test in set(chain.from_iterable(mutant.tests for mutant in ALL)):
        path, _, name = test.partition("[")[0].partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8"), test
    assert all(mutant.tests for mutant in ALL)


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

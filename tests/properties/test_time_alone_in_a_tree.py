"""Property: in a tree of accounts, too, time alone changes the same with a job and without, and denials foresee.

As tests/properties/test_time_alone.py, of accounts with plans of their own under one another that move,
are suspended and bound in their open holds; of requests with models and alternatives, and charges.
"""

import os

import pytest

from tests.properties.trees import TreeSide, TreeStory
from tests.support import databases

pytestmark = pytest.mark.slow

SEQUENCES = int(os.environ.get("PREAUTH_TEST_SEQUENCES", "16")) // 4


@pytest.fixture
def sides(database_url, cluster):
    template = databases.template(cluster, databases.DEFAULT_SCHEMA)
    with databases.temporary(cluster, template) as other:
        pair = TreeSide(database_url), TreeSide(other)
        yield pair
        for side in pair:
            side.close()
        assert databases.mismatches(other) == []


@pytest.mark.parametrize("part", range(4))
def test_a_tree_that_is_never_swept_decides_alike_and_denials_foresee(sides, part):
    for seed in range(part * SEQUENCES, (part + 1) * SEQUENCES):
        story = TreeStory(seed, sides)
        try:
            for _ in range(25):
                story.step()
            story.end()
        except AssertionError as error:
            raise AssertionError(f"sequence {seed}, step {story.steps}: {error}") from error

"""What the tests are made of: a cluster, databases cloned from templates, sessions, a clock."""

import pytest

pytest.register_assert_rewrite("tests.support")

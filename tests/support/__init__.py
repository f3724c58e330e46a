"""What the tests are made of: a cluster, databases cloned from templates, sessions, a clock."""

import pytest

for _module in ("checks", "daemon", "session", "waits"):
    pytest.register_assert_rewrite(f"tests.support.{_module}")

"""``PROMETHEUS_MULTIPROC_DIR``: where several processes count together. prometheus_client reads it.

It takes an empty one for the working directory, and a missing one for a reason to fail much later.
"""

import os
from pathlib import Path

__all__ = ["VARIABLE", "MetricsDirectoryError", "settle"]

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_NAMES = (VARIABLE, VARIABLE.lower())
"""It still reads the second, which was its first."""


class MetricsDirectoryError(Exception):
    """The directory cannot be written to."""


def settle() -> None:
    """Make an empty variable an unset one, and see to it that a directory is there.

    Raises:
        MetricsDirectoryError: naming the variable.
    """
    for name in _NAMES:
        directory = os.environ.get(name)
        if directory == "":
            del os.environ[name]
        elif directory and not (Path(directory).is_dir() and os.access(directory, os.W_OK)):
            raise MetricsDirectoryError(f"{name}: {directory} is no directory that can be written")

"""Preauth: authorization holds for metered spend, decided by PostgreSQL functions."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("preauth-service")
except PackageNotFoundError:  # run straight from a checkout
    __version__ = "0.0.0"

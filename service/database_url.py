"""``PREAUTH_DATABASE_URL``, read by libpq: one reading of it, whoever connects afterwards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict, timeout_from_conninfo
from psycopg.pq import Conninfo

__all__ = ["DatabaseUrlError", "check", "parameters"]

_HIGHEST_PORT = 65535


class DatabaseUrlError(ValueError):
    """The URL cannot be used. What it says names the setting, and repeats no value of the URL."""

    def __init__(self, what: str) -> None:
        super().__init__(f"PREAUTH_DATABASE_URL: {what}")
        self.what = what


def check(url: str) -> None:
    """Refuse a URL that libpq cannot read, or reads as nobody meant it.

    Raises:
        DatabaseUrlError: libpq's own words would repeat a part of the password.
    """
    _refuse_what_is_no_address(_of_url(url))
    if "@" in _raw_path(url):
        raise DatabaseUrlError(
            "there is an @ behind the host: percent-encode what is special in the password"
        )


def parameters(url: str) -> dict[str, str]:
    """By libpq's keywords: what the URL says, then its service, then the ``PG…`` variables.

    What libpq would assume without being told is left out, but for the user.

    Raises:
        DatabaseUrlError: libpq cannot read the URL, or finds no address.
    """
    said = _of_url(url)
    with _service(said.pop("service", None)):
        defaults = Conninfo.get_defaults()
    around = {
        option.keyword.decode(): os.fsdecode(option.val)
        for option in defaults
        if option.val and option.val != option.compiled and option.keyword != b"service"
    }
    found = {**around, **said}
    _refuse_what_is_no_address(found)
    return found


def _of_url(url: str) -> dict[str, str]:
    try:
        found = conninfo_to_dict(url)
        timeout_from_conninfo(found)
    except (psycopg.Error, UnicodeEncodeError):
        raise DatabaseUrlError(
            "libpq cannot read it: percent-encode what is special in the password;"
            " after the question mark it knows its own keys only"
        ) from None
    return {name: str(value) for name, value in found.items() if value not in {None, ""}}


def _refuse_what_is_no_address(found: dict[str, str]) -> None:
    hosts = found.get("host", "").split(",")
    if not all(map(_is_host, hosts)) or not all(map(_is_port, _ports(found))):
        raise DatabaseUrlError(
            "the host or the port is not one: percent-encode what is special in the password"
        )


def _is_host(host: str) -> bool:
    """A raw @ in a password ends in the host's name. One that begins it is a kind of socket."""
    return host.startswith("/") or "@" not in host[1:]


def _raw_path(url: str) -> str:
    """The database's name as it is written. A raw slash in a password makes the rest of it one."""
    return url.partition("://")[2].partition("/")[2].partition("?")[0]


def _ports(found: dict[str, str]) -> list[str]:
    return [port for port in found.get("port", "").split(",") if port]


def _is_port(port: str) -> bool:
    return port.isascii() and port.isdecimal() and 1 <= int(port) <= _HIGHEST_PORT


@contextmanager
def _service(name: str | None) -> Iterator[None]:
    """Let libpq look a service up in its files: it does for the variable, not for the URL's key."""
    before = os.environ.get("PGSERVICE")
    if name is not None:
        os.environ["PGSERVICE"] = name
    try:
        yield
    finally:
        if before is not None:
            os.environ["PGSERVICE"] = before
        else:
            os.environ.pop("PGSERVICE", None)

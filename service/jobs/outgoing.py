"""The client that alerts are posted with. Its certificates and proxies are the environment's."""

import os
import ssl

import httpx

from service.settings import EnvironmentRefusedError, Settings

__all__ = ["check_environment", "client_of_environment"]

_READ = ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
"""The variables that make a client, proxies in small letters too."""


def check_environment(settings: Settings) -> None:
    """Refuse at the start what would keep every alert from being delivered.

    Raises:
        EnvironmentRefusedError: alerts are to be delivered, and no client can be made.
    """
    if settings.webhook_url is not None:
        client_of_environment(settings.webhook_timeout)


def client_of_environment(timeout: float) -> httpx.AsyncClient:
    """Make a client that gives up after ``timeout`` seconds. It connects to nothing yet.

    Raises:
        EnvironmentRefusedError: a file of certificates that is none, a proxy of a kind or with an
            address that the client does not know.
    """
    try:
        return httpx.AsyncClient(timeout=timeout)
    except Exception as error:  # noqa: BLE001  # what httpx says may quote a proxy's password
        kind = type(error).__name__
        raise EnvironmentRefusedError(
            f"{_culprits()}: alerts cannot be delivered with what is set there ({kind})"
        ) from None


def _culprits() -> str:
    """The variables that are no good by themselves, or all that are read where none is known."""
    given = [name for name, value in os.environ.items() if name.upper() in _READ and value]
    return ", ".join([name for name in given if not _is_good(name, os.environ[name])] or given)


def _is_good(name: str, value: str) -> bool:
    try:
        _try(name.upper(), value)
    except Exception:  # noqa: BLE001  # whatever it is, it is this one's
        return False
    return True


def _try(name: str, value: str) -> None:
    if name == "SSL_CERT_FILE":
        ssl.create_default_context(cafile=value)
    elif name.endswith("_PROXY") and name != "NO_PROXY":
        proxy = value if "://" in value else f"http://{value}"
        httpx.AsyncHTTPTransport(proxy=proxy, trust_env=False)

"""Where asyncpg is to connect: what libpq reads in a URL, in asyncpg's words.

asyncpg would read the URL in its own way, and send each key that it does not know to the
server as a setting, which no server has.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from service.database_url import DatabaseUrlError, parameters

__all__ = ["Target"]

_DEFAULT_PORT = 5432

_LEFT_OUT = {
    # Every wait here has a deadline, so a connection that died is noticed without the kernel.
    "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
    # asyncpg has one way: UTF-8, protocol 3.0, the host's name in TLS, no compression, hosts in
    # their order, no credentials handed on.
    "client_encoding", "max_protocol_version", "sslsni", "sslcompression", "load_balance_hosts",
    "gssdelegation", "sslkeylogfile",
}  # fmt: skip
"""What libpq knows and nothing here depends on."""

_UNHONOURED: dict[str, set[str]] = {
    "channel_binding": {"prefer", "disable"},
    "gssencmode": {"prefer", "disable"},
    "sslcertmode": {"allow", "disable"},
    "min_protocol_version": {"3.0"},
    "replication": {"false", "off", "no", "0"},
    "require_auth": set(),
    "requirepeer": set(),
    "sslcrldir": set(),
    "scram_client_key": set(),
    "scram_server_key": set(),
    "oauth_issuer": set(),
    "oauth_client_id": set(),
    "oauth_client_secret": set(),
    "oauth_scope": set(),
}
"""What asyncpg cannot do, with the values that don't ask for it: left out, they would be a
promise that is not kept."""

_FILES = (
    "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslpassword", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "sslnegotiation",
)  # fmt: skip
"""What asyncpg takes from a URL only."""

_AS_THEY_ARE = ("user", "password", "passfile", "target_session_attrs", "krbsrvname", "gsslib")

_WORDS = {
    "sslmode": {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"},
    "sslnegotiation": {"postgres", "direct"},
    "target_session_attrs": {
        "any", "read-write", "read-only", "primary", "standby", "prefer-standby",
    },
}  # fmt: skip

_MAPPED = {
    *_FILES, *_AS_THEY_ARE, *_WORDS, "host", "hostaddr", "port", "dbname", "connect_timeout",
    "application_name", "fallback_application_name", "options",
}  # fmt: skip


class Target(NamedTuple):
    """A database, for asyncpg."""

    arguments: dict[str, Any]
    """Of ``asyncpg.connect``; they hold the password."""
    session: dict[str, str]
    """What a session is to start with, in the server's words."""
    connect_seconds: float | None
    """To reach any of the hosts; None leaves it to the caller's own bound."""

    @classmethod
    def of(cls, url: str) -> Self:
        """Read a URL, with the service and the variables of libpq that it relies on.

        Raises:
            DatabaseUrlError: naming the key that cannot be honoured.
        """
        found = parameters(url)
        for fault in _faults(found):
            raise DatabaseUrlError(fault)
        hosts, ports = _addresses(found)
        arguments = {
            **{name: found.get(name) for name in _AS_THEY_ARE},
            "host": hosts,
            "port": ports,
            "database": found.get("dbname"),
            **_tls(found),
        }
        return cls(arguments, _session(found), _connect_seconds(found, hosts))


def _faults(found: Mapping[str, str]) -> Iterator[str]:
    for name, value in found.items():
        if name in _UNHONOURED and value not in _UNHONOURED[name]:
            yield f"the service cannot keep what its {name} asks for: leave it out"
        elif name not in _MAPPED | _LEFT_OUT | _UNHONOURED.keys():
            yield f"the service does not know {name}: leave it out"
        if name in _WORDS and value not in _WORDS[name]:
            yield f"{name} must be one of {', '.join(sorted(_WORDS[name]))}"
    if not _is_integer(found.get("connect_timeout", "0")):
        yield "connect_timeout must be a whole number of seconds"
    if found.get("sslnegotiation") == "direct" and not _encrypts_for_sure(found):
        yield "sslnegotiation=direct goes with sslmode=require or a stricter one"
    if "hostaddr" in found and found.get("sslmode") == "verify-full":
        yield "hostaddr and sslmode=verify-full: the service verifies the name it connects to"
    if found.get("sslrootcert") == "system":
        yield from _faults_of_the_systems_certificates(found)


def _faults_of_the_systems_certificates(found: Mapping[str, str]) -> Iterator[str]:
    if found.get("sslmode", "verify-full") != "verify-full":
        yield "sslrootcert=system goes with sslmode=verify-full"
    if "hostaddr" in found:
        yield "hostaddr and sslrootcert=system: the service verifies the name it connects to"
    for name in (set(_FILES) - {"sslrootcert", "sslnegotiation"}) & found.keys():
        yield f"sslrootcert=system and {name}: the service can do one of them"


def _encrypts_for_sure(found: Mapping[str, str]) -> bool:
    strict = {"require", "verify-ca", "verify-full"}
    return found.get("sslmode") in strict or found.get("sslrootcert") == "system"


def _addresses(found: Mapping[str, str]) -> tuple[list[str] | None, list[int] | int]:
    """Hosts and a port for each; None stands for the places where PostgreSQL usually is."""
    hosts = _hosts(found)
    ports = [int(port) if port else _DEFAULT_PORT for port in found.get("port", "").split(",")]
    if len(ports) not in {1, len(hosts)}:
        raise DatabaseUrlError("it must name one port, or one for each host")
    if not hosts:
        return None, ports[0]
    return hosts, ports * len(hosts) if len(ports) == 1 else ports


def _hosts(found: Mapping[str, str]) -> list[str]:
    """An address given beside a name saves looking the name up."""
    names, numbers = _list(found, "host"), _list(found, "hostaddr")
    if names and numbers and len(names) != len(numbers):
        raise DatabaseUrlError("host and hostaddr must be equally many")
    hosts = [n or names[i] for i, n in enumerate(numbers)] if names else numbers
    hosts = hosts or names
    if any(not host or host.startswith("@") for host in hosts):
        raise DatabaseUrlError("one of its hosts is empty or an abstract socket: name each")
    return hosts


def _list(found: Mapping[str, str], name: str) -> list[str]:
    return found[name].split(",") if name in found else []


def _tls(found: Mapping[str, str]) -> dict[str, Any]:
    if found.get("sslrootcert") == "system":
        return {"dsn": _url_of(found, {"sslnegotiation"}), "ssl": True}
    unwanted = {"sslcert", "sslkey"} if found.get("sslcertmode") == "disable" else set()
    return {"dsn": _url_of(found, set(_FILES) - unwanted), "ssl": found.get("sslmode")}


def _url_of(found: Mapping[str, str], names: set[str]) -> str:
    return f"postgresql://?{urlencode({n: found[n] for n in _FILES if n in names & found.keys()})}"


def _session(found: Mapping[str, str]) -> dict[str, str]:
    name = found.get("application_name") or found.get("fallback_application_name")
    session = {"application_name": name, "options": found.get("options")}
    return {key: value for key, value in session.items() if value is not None}


def _connect_seconds(found: Mapping[str, str], hosts: list[str] | None) -> float | None:
    """As libpq means it: so long for each host, and no bound where it is not positive."""
    seconds = int(found.get("connect_timeout", "0"))
    return seconds * len(hosts or [""]) if seconds > 0 else None


def _is_integer(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()

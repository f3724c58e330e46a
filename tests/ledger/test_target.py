"""One URL, two readers: the service connects wherever `migrate` does, or says why it won't."""

import os
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from service.database_url import DatabaseUrlError
from service.ledger.connections import Connections
from service.ledger.target import Target

HARMLESS = {
    "connect_timeout": "5",
    "channel_binding": "prefer",
    "keepalives": "1",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "gssencmode": "prefer",
    "sslcertmode": "disable",
    "sslcompression": "0",
    "sslsni": "1",
    "load_balance_hosts": "random",
    "fallback_application_name": "mine",
    "client_encoding": "UTF8",
    "max_protocol_version": "3.0",
    "min_protocol_version": "3.0",
    "gssdelegation": "0",
    "krbsrvname": "postgres",
    "replication": "false",
    "target_session_attrs": "read-write",
    "sslmode": "prefer",
    "sslnegotiation": "postgres",
    "ssl_min_protocol_version": "TLSv1.2",
    "passfile": "/nowhere",
}

WEAKENING = {
    "channel_binding": "require",
    "gssencmode": "require",
    "sslcertmode": "require",
    "min_protocol_version": "3.2",
    "require_auth": "scram-sha-256",
    "requirepeer": "postgres",
    "sslcrldir": "/etc/crl",
    "replication": "database",
    "scram_client_key": "a2V5",
    "oauth_issuer": "https://issuer.example",
}


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in [n for n in os.environ if n.startswith("PG")]:
        monkeypatch.delenv(name)


async def ask(url, sql="select current_user", **more):
    connections = Connections(url, size=1, timeout=5, **more)
    await connections.open()
    try:
        return (await connections.fetch(sql, resend=True))[0][0]
    finally:
        await connections.close()


def with_key(url, name, value):
    return f"{url}{'&' if '?' in url else '?'}{name}={quote(value, safe='')}"


@pytest.mark.parametrize("name", HARMLESS)
async def test_a_key_that_libpq_knows_keeps_nobody_from_connecting(empty_database_url, name):
    url = with_key(empty_database_url, name, HARMLESS[name])
    psycopg.connect(url).close()
    assert await ask(url) == "postgres"


async def test_all_of_them_together_keep_nobody_from_connecting(empty_database_url):
    url = empty_database_url
    for name, value in HARMLESS.items():
        url = with_key(url, name, value)
    assert await ask(url) == "postgres"


@pytest.mark.parametrize("name", WEAKENING)
def test_a_key_that_cannot_be_honoured_is_refused_by_its_name(name):
    with pytest.raises(DatabaseUrlError, match=rf"^PREAUTH_DATABASE_URL: .*{name}") as refused:
        Target.of(with_key("postgresql://u:s3cret@h/db", name, WEAKENING[name]))
    assert "s3cret" not in str(refused.value)


def test_one_of_the_environment_is_refused_too(monkeypatch):
    monkeypatch.setenv("PGCHANNELBINDING", "require")
    with pytest.raises(DatabaseUrlError, match="channel_binding"):
        Target.of("postgresql://h/db")


def test_a_port_of_the_environment_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("PGPORT", "five")
    with pytest.raises(DatabaseUrlError, match="the port is not one"):
        Target.of("postgresql://h/db")
    assert Target.of("postgresql://h:5433/db").arguments["port"] == [5433]


@pytest.mark.parametrize("password", ["p#x", "a?b", "p%x", "a@b:c/d", "ü €", "'\\\"", "[x]", "a+b"])
async def test_any_password_connects_percent_encoded(empty_database_url, password):
    url = empty_database_url.replace("postgres@", f"postgres:{quote(password, safe='')}@")
    assert Target.of(url).arguments["password"] == password
    assert await ask(url) == "postgres"


def test_a_raw_hash_in_the_password_is_read_as_libpq_reads_it():
    found = Target.of("postgresql://u:p#x@h:5433/db").arguments
    assert (found["user"], found["password"], found["host"], found["port"], found["database"]) == (
        "u", "p#x", ["h"], [5433], "db",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("url", "hosts", "ports"),
    [
        ("postgresql://a,b:5433/db", ["a", "b"], [5432, 5433]),
        ("postgresql://a:1,b:2/db", ["a", "b"], [1, 2]),
        ("postgresql://[::1]:5433/db", ["::1"], [5433]),
        ("postgresql://[fd00::1],10.0.0.1:5433/db", ["fd00::1", "10.0.0.1"], [5432, 5433]),
        ("postgresql:///db?host=a,/run/x&port=7", ["a", "/run/x"], [7, 7]),
        ("postgresql://%2Frun%2Fx/db", ["/run/x"], [5432]),
        ("postgresql:///db?host=name&hostaddr=10.0.0.9", ["10.0.0.9"], [5432]),
        ("postgresql:///db?hostaddr=10.0.0.9", ["10.0.0.9"], [5432]),
        ("postgresql:///db", None, 5432),
        ("postgresql:///db?port=7", None, 7),
    ],
)
def test_hosts_and_ports_are_those_of_libpq(url, hosts, ports):
    found = Target.of(url).arguments
    assert (found["host"], found["port"]) == (hosts, ports)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://a,b,c:1/db?port=1,2",
        "postgresql://a,/db",
        "postgresql:///db?host=@abstract",
        "postgresql://h/db?hostaddr=10.0.0.1&sslmode=verify-full",
        "postgresql://h/db?hostaddr=10.0.0.1,10.0.0.2",
        "postgresql://h/db?sslmode=none",
        "postgresql://h/db?target_session_attrs=best",
        "postgresql://h/db?sslnegotiation=quick",
        "postgresql://h/db?connect_timeout=soon",
        "postgresql://h/db?sslrootcert=system&sslmode=require",
        "postgresql://h/db?sslrootcert=system&sslmode=verify-full&sslcert=/x",
    ],
)
def test_what_could_never_connect_as_it_says_is_refused_at_the_start(url):
    with pytest.raises(DatabaseUrlError, match=r"^PREAUTH_DATABASE_URL: "):
        Target.of(url)


async def test_several_hosts_are_tried_in_turn(empty_database_url):
    there = conninfo_to_dict(empty_database_url)
    hosts = quote(f"/nowhere,{there['host']}", safe="")
    url = f"postgresql://postgres@/{there['dbname']}?host={hosts}&port={there['port']}"
    assert await ask(url) == "postgres"


def test_files_of_certificates_reach_asyncpg_and_nothing_else_of_the_url_does():
    keys = "sslrootcert=/ca&sslcert=/c&sslkey=/k&sslcrl=/l&sslpassword=x%26y&sslmode=verify-full"
    found = Target.of(f"postgresql://u:s3cret@h/db?{keys}&keepalives=1").arguments
    assert found["ssl"] == "verify-full"
    assert found["dsn"] == (
        "postgresql://?sslrootcert=%2Fca&sslcert=%2Fc&sslkey=%2Fk&sslcrl=%2Fl&sslpassword=x%26y"
    )


def test_the_systems_certificates_mean_a_full_verification():
    assert Target.of("postgresql://h/db?sslrootcert=system").arguments["ssl"] is True


def test_no_certificate_is_sent_where_none_may_be():
    found = Target.of("postgresql://h/db?sslcert=/c&sslkey=/k&sslcertmode=disable").arguments
    assert "sslcert" not in found["dsn"]
    assert "sslkey" not in found["dsn"]


async def test_a_name_and_options_of_ones_own_reach_the_server(empty_database_url):
    url = with_key(empty_database_url, "application_name", "mine")
    assert await ask(url, "show application_name") == "mine"
    url = with_key(empty_database_url, "options", "-c work_mem=7MB -c statement_timeout=1")
    assert await ask(url, "show work_mem") == "7MB"
    assert await ask(url, "show statement_timeout") == "4500ms"  # ours: a caller's bound


async def test_without_a_name_it_is_preauth(empty_database_url):
    assert await ask(empty_database_url, "show application_name") == "preauth"


@pytest.mark.parametrize(
    ("key", "seconds"),
    [
        ("", None),
        ("connect_timeout=0", None),
        ("connect_timeout=3", 3),
        ("connect_timeout=-1", None),
    ],
)
def test_a_time_to_connect_is_kept(key, seconds):
    assert Target.of(f"postgresql://h/db?{key}").connect_seconds == seconds


def test_it_is_the_time_of_each_host():
    assert Target.of("postgresql://a,b,c/db?connect_timeout=2").connect_seconds == 6


async def test_a_service_is_looked_up_in_libpqs_file(monkeypatch, tmp_path, empty_database_url):
    there = conninfo_to_dict(empty_database_url)
    (tmp_path / "services").write_text(
        f"# ours\n[ledger]\nhost={there['host']}\nport={there['port']}\nuser=postgres\n"
        f"dbname=elsewhere\nkeepalives=1\n[strict]\nhost=h\nchannel_binding=require\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    url = f"postgresql:///{there['dbname']}?service=ledger"
    psycopg.connect(url).close()
    assert await ask(url) == "postgres"
    assert "PGSERVICE" not in os.environ
    with pytest.raises(DatabaseUrlError, match="channel_binding"):
        Target.of("postgresql:///db?service=strict")


async def test_libpqs_variables_fill_in_what_the_url_leaves_out(monkeypatch, empty_database_url):
    there = conninfo_to_dict(empty_database_url)
    monkeypatch.setenv("PGHOST", there["host"])
    monkeypatch.setenv("PGPORT", there["port"])
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGAPPNAME", "named")
    assert await ask(f"postgresql:///{there['dbname']}", "show application_name") == "named"


def test_a_password_file_is_asyncpgs_to_read():
    assert Target.of("postgresql://h/db?passfile=/x").arguments["passfile"] == "/x"

"""The command line on a real database: what it prints, what it stores, how it fails."""

import json
import stat
import threading
from datetime import UTC, datetime

import psycopg
import pytest
from click import ClickException
from click.testing import CliRunner

from service import cli, migrate, serving
from service.admin_key import local_admin_key
from service.api.auth import digest
from service.cli import main
from service.examples import load_examples
from service.retention import archive
from service.store import call
from tests.support.logins import login


@pytest.fixture
def run(monkeypatch, empty_database_url):
    """The command line, on a database with nothing in it."""
    monkeypatch.setenv("PREAUTH_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("PREAUTH_PORT", "8080")

    def invoke(*arguments):
        return CliRunner().invoke(main, list(arguments))

    return invoke


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


COMMANDS = [
    ["prices", "import", "genai", "--only", "openai/gpt-5-mini"],
    ["prices", "list"],
    ["verify"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_database_without_the_ledger_is_told_in_a_line(run, command):
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr == 'Error: schema "preauth_api" does not exist: run preauth migrate\n'


def test_a_database_of_an_earlier_release_is_told_in_a_line(run, empty_database_url):
    migrate.upgrade(empty_database_url, "0001")
    result = run("prices", "list")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: function preauth_api.price_tables(")
    assert result.stderr.endswith(" does not exist: run preauth migrate\n")


def test_migrate_brings_an_empty_database_to_head_and_says_so(run, empty_database_url):
    assert run("migrate").stdout == f"revision None -> {migrate.head()}\n"
    assert run("migrate").stdout == f"revision {migrate.head()} -> {migrate.head()}\n"
    assert migrate.at_head(empty_database_url)


def test_several_that_migrate_at_once_take_turns(empty_database_url):
    threads = [threading.Thread(target=migrate.upgrade, args=[empty_database_url]) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert migrate.at_head(empty_database_url)


def test_a_key_is_shown_once_and_stored_as_its_hash(run, empty_database_url):
    run("migrate")

    [made] = lines(run("keys", "create", "--name", "chat", "--role", "spend"))

    with psycopg.connect(empty_database_url) as connection:
        found = call(connection, "key_by_hash", key_hash=digest(made["secret"].encode()))
    assert found["key_id"] == made["key_id"]
    [listed] = lines(run("keys", "list"))
    assert listed["name"] == "chat"
    assert made["secret"] not in json.dumps(listed)


def test_a_revoked_key_is_unknown(run, empty_database_url):
    run("migrate")
    [made] = lines(run("keys", "create", "--name", "chat", "--role", "audit"))

    assert run("keys", "revoke", made["key_id"]).exit_code == 0

    with psycopg.connect(empty_database_url) as connection:
        assert call(connection, "key_by_hash", key_hash=digest(made["secret"].encode())) is None


def test_a_problem_is_one_line_and_a_failure(run):
    run("migrate")

    result = run("keys", "revoke", "key_nobody")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_verify_says_nothing_of_a_consistent_ledger(run):
    run("migrate")

    result = run("verify")

    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.tampered
def test_verify_prints_each_mismatch_and_fails(run, empty_database_url):
    run("migrate")
    with psycopg.connect(empty_database_url) as connection:
        load_examples(connection)
        charge = {"request_id": "r", "account_id": "demo", "amounts": {"usd_nano": 7}}
        assert call(connection, "charge", **charge)["decision"] == "authorized"
        connection.execute("update preauth.budget_window set settled = settled + 1")

    result = run("verify")

    assert result.exit_code == 1
    assert {row["account_id"] for row in lines(result)} == {"demo"}


def test_the_examples_are_loaded_once(run, empty_database_url):
    run("migrate")
    with psycopg.connect(empty_database_url) as connection:
        assert load_examples(connection) == ["free", "pro", "team", "demo", "9 price tables"]
        assert load_examples(connection) == []
        free = call(connection, "plan", plan_id="free")
    assert free["budgets"][0]["limit_amount"] == 500_000_000


def test_the_local_admin_key_is_kept_while_the_database_knows_it(run, empty_database_url, tmp_path):
    run("migrate")
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        key, path = local_admin_key(connection, tmp_path)
        assert local_admin_key(connection, tmp_path) == (key, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        found = call(connection, "key_by_hash", key_hash=digest(key.encode()))
        call(connection, "revoke_key", key_id=found["key_id"])
        assert local_admin_key(connection, tmp_path)[0] != key


@pytest.mark.parametrize("command", ["serve", "dev"])
def test_a_url_that_the_service_cannot_keep_is_refused_at_the_start(run, monkeypatch, command):
    monkeypatch.setenv("PREAUTH_DATABASE_URL", "postgresql://u:s3cret@h/db?channel_binding=require")
    result = run(command)
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: PREAUTH_DATABASE_URL: the service cannot keep what its channel_binding asks for:"
        " leave it out\n"
    )


def test_a_url_that_libpq_cannot_read_is_refused_in_a_line(run, monkeypatch):
    monkeypatch.setenv("PREAUTH_DATABASE_URL", "postgresql://u:s3cret%zz@h/db")
    result = run("migrate")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: PREAUTH_DATABASE_URL: ")
    assert "s3cret" not in result.output
    assert result.stderr.count("\n") == 1


def test_serving_waits_for_the_database_to_be_at_head(empty_database_url, capsys, monkeypatch):
    monkeypatch.setattr(serving.time, "sleep", lambda _: migrate.upgrade(empty_database_url))

    serving.wait_for_head(empty_database_url)

    assert "waiting: the database is at revision None" in capsys.readouterr().err
    assert "does not answer" in serving._not_ready("postgresql://postgres@127.0.0.1:1/none")


def test_a_bad_setting_and_an_unreachable_database_are_told_in_a_line(run, monkeypatch):
    monkeypatch.setenv("PREAUTH_DATABASE_URL", "postgresql://postgres@127.0.0.1:1/none")
    assert run("verify").stderr.startswith("Error: ")
    monkeypatch.setenv("PREAUTH_PORT", "many")
    assert run("serve").stderr.startswith("Error: PREAUTH_PORT: ")
    monkeypatch.setenv("PREAUTH_PORT", "8080")
    monkeypatch.setenv("PREAUTH_WEBHOOK_URL", "http://127.0.0.1:9/alerts")
    assert run("serve").stderr.startswith("Error: PREAUTH_WEBHOOK_URL and ")
    monkeypatch.delenv("PREAUTH_WEBHOOK_URL")
    monkeypatch.delenv("PREAUTH_DATABASE_URL")
    assert "PREAUTH_DATABASE_URL is not set" in run("serve").stderr


SECRET = "pa55word"
UNREADABLE = [
    f"postgresql://u:{SECRET}%zz@127.0.0.1:1/d",
    f"postgresql://u:{SECRET}@127.0.0.1:1/d?foo=bar",
    f"postgresql://u:{SECRET}@127.0.0.1:1/d?connect_timeout=soon",
    f"postgresql://u:x@{SECRET}@127.0.0.1:1/d",
    f"postgresql://u:{SECRET}/x@127.0.0.1:1/d",
    f"postgresql://u:1/{SECRET}@127.0.0.1:1/d",
    f"postgresql://u:{SECRET}@[::1/d",
    f"postgresql://u:{SECRET}\udcff@127.0.0.1:1/d",
]


@pytest.mark.parametrize("url", UNREADABLE, ids=map(str, range(len(UNREADABLE))))
@pytest.mark.parametrize(
    "command", [["verify"], ["migrate"], ["keys", "list"], ["backup", "dump"], ["prices", "list"]]
)
def test_a_url_that_cannot_be_read_is_told_by_its_name_and_never_shown(
    run, monkeypatch, tmp_path, command, url
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREAUTH_DATABASE_URL", url)
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: PREAUTH_DATABASE_URL: ")
    assert result.stderr.count("\n") == 1
    assert SECRET not in result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("options", ["sslmode=perhaps", "port=99999", "host=nowhere.invalid"])
def test_a_url_that_leads_nowhere_is_told_in_a_line_without_its_password(run, monkeypatch, options):
    url = f"postgresql://u:{SECRET}@127.0.0.1:1/d?{options}"
    monkeypatch.setenv("PREAUTH_DATABASE_URL", url)
    result = run("migrate")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert SECRET not in result.output


@pytest.fixture
def run_as(run, monkeypatch, empty_database_url):
    """The command line as a login of few rights."""

    def invoke(name, role, *arguments):
        url = login(empty_database_url, name, role)
        with monkeypatch.context() as other:
            other.setenv("PREAUTH_DATABASE_URL", url)
            return run(*arguments)

    return invoke


NOBODY = ("preauth_nobody_login", None)
AUDITOR = ("preauth_audit_login", "preauth_audit")
FORBIDDEN = [
    (NOBODY, ["verify"], "preauth_service or preauth_audit"),
    (NOBODY, ["prices", "list"], "preauth_service"),
    (NOBODY, ["keys", "list"], "preauth_service"),
    (AUDITOR, ["keys", "list"], "preauth_service"),
    (AUDITOR, ["keys", "create", "--name", "n", "--role", "spend"], "preauth_service"),
    (AUDITOR, ["forget", "ann", "--reason", "r"], "preauth_service"),
    (AUDITOR, ["retention", "--months", "1", "--archive", "archive"], "preauth_service"),
    (NOBODY, ["migrate"], "preauth_owner"),
    (AUDITOR, ["migrate"], "preauth_owner"),
    (NOBODY, ["dev"], "preauth_owner"),
    (NOBODY, ["serve", "--migrate"], "preauth_owner"),
]


@pytest.mark.parametrize(("who", "command", "role"), FORBIDDEN)
def test_who_lacks_a_right_is_told_which_role_has_it(run, run_as, who, command, role):
    run("migrate")
    result = run_as(*who, *command)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: permission denied for ")
    assert "the user of PREAUTH_DATABASE_URL must be " in result.stderr
    assert role in result.stderr
    assert result.stderr.count("\n") == 1


def test_who_may_not_make_the_ledger_is_told_so(run_as, empty_database_url):
    result = run_as(*NOBODY, "migrate")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: permission denied for database ")
    assert "preauth_owner" in result.stderr


@pytest.mark.parametrize("command", [["migrate"], ["dev"], ["serve", "--migrate"]])
def test_a_ledger_of_a_newer_release_is_told_as_one(run, empty_database_url, command):
    run("migrate")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("update preauth.alembic_version set version_num = '9999'")
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: the ledger is at revision 9999: it is of a newer release than this one,"
        f" which ends at {migrate.head()}: use that release\n"
    )


def test_a_defect_keeps_its_traceback_and_its_cause(run, monkeypatch):
    def broken():
        raise TypeError("a defect") from KeyError("its cause")

    monkeypatch.setattr(cli, "Settings", broken)
    result = run("verify")
    assert isinstance(result.exception, TypeError)
    assert isinstance(result.exception.__cause__, KeyError)


def test_a_standby_is_told_in_a_line(run, empty_database_url, monkeypatch):
    run("migrate")
    url = f"{empty_database_url}&options=-cdefault_transaction_read_only%3Don"
    monkeypatch.setenv("PREAUTH_DATABASE_URL", url)
    result = run("keys", "create", "--name", "n", "--role", "spend")
    assert result.exit_code == 1
    assert result.stderr.endswith(": PREAUTH_DATABASE_URL must name a primary\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("number", ["0", "-1", "9223372036854775808", "99999999999999999999"])
@pytest.mark.parametrize("option", ["--wrong", "--right"])
def test_a_price_table_that_no_ledger_has_is_refused_by_its_option(run, option, number):
    ids = {"--wrong": "1", "--right": "2", option: number}
    chosen = [word for pair in ids.items() for word in pair]
    result = run("prices", "rerate", *chosen, "--since", "2026-09-01", "--until", "2026-10-01")
    assert result.exit_code == 2
    assert f"'{option}'" in result.stderr


def test_an_argument_that_is_not_utf_8_is_told_in_a_line(run):
    run("migrate")
    for command in (["forget", "ann\udcff", "--reason", "r"], ["keys", "revoke", "\udcff"]):
        result = run(*command)
        assert (result.exit_code, result.stderr) == (1, "Error: an argument is not UTF-8\n")


def test_version_names_the_schema_it_needs(run):
    assert run("version").stdout.endswith(f"(schema {migrate.head()})\n")


def test_retention_says_what_it_moved_and_that_the_archive_is_whole(run, tmp_path):
    run("migrate")
    done = run("retention", "--months", "13", "--archive", str(tmp_path), "--check")
    assert done.exit_code == 0
    assert done.stdout.startswith("moved 0 reservations from before 20")
    assert done.stderr == "the archive holds all that was moved out\n"


def test_retention_without_anything_to_do_is_a_mistake(run, tmp_path):
    done = run("retention", "--archive", str(tmp_path))
    assert done.exit_code == 2
    assert "say --months, or --check" in done.stderr


def test_an_archive_that_lacks_what_was_moved_out_fails_the_check(
    run, empty_database_url, tmp_path
):
    run("migrate")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(
            "insert into preauth.window_checkpoint values (1, 'ann', 7, 1, '2026-01-01T00:00:00Z')"
        )
    done = run("retention", "--archive", str(tmp_path), "--check")
    assert done.exit_code == 1
    assert done.stdout == "window 1: 0 lines and 0 settled in the archive, 1 and 7 moved out\n"


@pytest.mark.parametrize("options", [["--check"], ["--months", "1"], ["--months", "1", "--check"]])
def test_an_archive_that_is_no_directory_is_told_in_a_line(run, tmp_path, options):
    run("migrate")
    (tmp_path / "file").touch()
    done = run("retention", "--archive", str(tmp_path / "file"), *options)
    assert done.exit_code == 2
    assert f"Directory '{tmp_path / 'file'}' is a file." in done.stderr


def test_an_archive_that_cannot_be_written_is_told_in_a_line_and_nothing_leaves_the_ledger(
    run, empty_database_url, tmp_path
):
    run("migrate")
    with psycopg.connect(empty_database_url) as connection:
        load_examples(connection)
        charge = {"request_id": "r", "account_id": "demo", "amounts": {"usd_nano": 7}}
        call(connection, "charge", **charge)
    (tmp_path / "file").touch()
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        with pytest.raises(ClickException, match="Not a directory"):
            archive(connection, tmp_path / "file" / "below", datetime.now(UTC))
        assert connection.execute("select count(*) from preauth.usage_event").fetchone() == (1,)


def test_a_damaged_archive_fails_the_check_and_names_the_file(run, tmp_path):
    run("migrate")
    (tmp_path / "20260101T000000000000.jsonl.gz").write_bytes(b"torn")
    done = run("retention", "--archive", str(tmp_path), "--check")
    assert done.exit_code == 1
    assert done.stdout.startswith(f"{tmp_path}/20260101T000000000000.jsonl.gz: damaged: Not a gzip")


def test_forgetting_tells_the_new_name_or_why_not(run, empty_database_url):
    run("migrate")
    with psycopg.connect(empty_database_url) as connection:
        call(connection, "put_account", account_id="ann", body={})

    [told] = lines(run("forget", "ann", "--reason", "asked for"))
    assert told["forgotten"]
    assert told["account_id"].startswith("forgotten:")
    again = run("forget", "ann", "--reason", "asked for")
    assert (again.exit_code, "ann" in again.stderr) == (1, True)


def test_serving_needs_a_database_that_is_told(monkeypatch):
    monkeypatch.delenv("PREAUTH_DATABASE_URL", raising=False)
    done = CliRunner().invoke(main, ["serve"])
    assert done.exit_code == 2
    assert "PREAUTH_DATABASE_URL is not set" in done.stderr

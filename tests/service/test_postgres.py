"""The launcher: one PostgreSQL a directory, found again, recovered, never open to strangers."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from service.postgres import AlreadyRunningError, PostgresError, PostgresServer
from service.postgres.binaries import Binaries, embedded_bin_dir
from service.postgres.copies import LOCK, PREFIX, make_copy, sweep
from service.postgres.identity import Identity, choose_identity
from service.postgres.processes import postmaster_status, processes_in

BIN_DIR = os.environ.get("PREAUTH_TEST_PG_BIN") or None
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands PostgreSQL to another user")


@pytest.fixture
def server(tmp_path):
    made = PostgresServer(tmp_path / "data", BIN_DIR)
    yield made
    made.stop("immediate")


def write(server, number):
    with psycopg.connect(server.dsn) as connection:
        connection.execute("create table if not exists kept (n integer)")
        connection.execute("insert into kept values (%s)", [number])


def read(server):
    with psycopg.connect(server.dsn) as connection:
        return [n for (n,) in connection.execute("select n from kept order by n")]


def test_a_second_start_finds_the_data_at_the_same_port(server):
    server.start()
    port = server.port
    write(server, 1)
    server.stop()

    assert not server.running
    with PostgresServer(server.home.root, BIN_DIR) as again:
        assert read(again) == [1]
        assert again.port == port


def test_what_was_committed_outlives_a_killed_postmaster(server):
    server.start()
    write(server, 1)
    server.kill()
    assert not server.running

    server.start()

    assert read(server) == [1]


def test_a_backend_that_outlives_its_postmaster_is_ended(server):
    server.start()
    write(server, 1)
    busy = psycopg.connect(server.dsn, autocommit=True)
    [pid] = busy.execute("select pg_backend_pid()").fetchone()
    os.kill(pid, signal.SIGSTOP)  # it cannot notice
    server.kill()
    try:
        wait_until(lambda: processes_in(server.home.data) == [pid])
        server.start()
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    assert read(server) == [1]
    assert pid not in processes_in(server.home.data)


def test_a_stale_pid_file_is_removed_even_when_its_number_is_in_use(server):
    server.start()
    server.stop()
    (server.home.data / "postmaster.pid").write_text(
        f"{os.getpid()}\n{server.home.data}\n1\n1\n\n\n\nready\n"
    )

    server.start()

    assert postmaster_status(server.home.data) == (server.pid, "ready")


def test_an_unfinished_first_start_is_begun_again(server):
    server.start()
    server.stop()
    server.home.data.rename(server.home.unfinished)

    server.start()

    with psycopg.connect(server.dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_second_server_on_the_same_directory_is_refused_by_name(server):
    server.start()

    with pytest.raises(AlreadyRunningError, match=f"in use by process {os.getpid()}"):
        PostgresServer(server.home.root, BIN_DIR).start()

    assert server.running


def launch_and_wait(directory):
    program = textwrap.dedent(f"""
        import time
        from service.postgres import PostgresServer
        server = PostgresServer({str(directory)!r}, {BIN_DIR!r}).start()
        print(server.pid, flush=True)
        time.sleep(600)
    """)
    launcher = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    return launcher, int(launcher.stdout.readline())


def wait_until(done, seconds=20):
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
def test_postgresql_ends_in_order_when_its_launcher_is_killed(server):
    launcher, postmaster = launch_and_wait(server.home.root)
    launcher.kill()
    launcher.wait()

    wait_until(lambda: not processes_in(server.home.data))

    assert postmaster
    assert "database system is shut down" in server.home.log_tail()


def test_a_postmaster_without_launcher_is_stopped_and_replaced(server):
    launcher, postmaster = launch_and_wait(server.home.root)
    os.kill(postmaster, signal.SIGSTOP)
    launcher.kill()
    launcher.wait()
    threading.Timer(0.5, os.kill, [postmaster, signal.SIGCONT]).start()

    server.start()

    assert server.pid != postmaster
    assert processes_in(server.home.data)


def test_tcp_asks_for_the_password_and_the_socket_is_private(server):
    server.start()

    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgresql://postgres@127.0.0.1:{server.port}/postgres").close()
    with psycopg.connect(server.tcp_dsn) as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("127.0.0.1",)
        assert connection.execute("show fsync").fetchone() == ("on",)
    assert server.home.sockets.stat().st_mode & 0o777 == 0o700
    assert server.home.root.stat().st_mode & 0o777 == 0o700
    assert (server.home.root / "postgres.json").stat().st_mode & 0o777 == 0o600


def test_a_path_too_long_for_a_socket_is_served_by_tcp(tmp_path):
    with PostgresServer(tmp_path / ("long" * 30), BIN_DIR) as server:
        assert "127.0.0.1" in server.dsn
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("show unix_socket_directories").fetchone() == ("",)
        write(server, 1)
        assert read(server) == [1]


def test_a_taken_port_is_replaced_by_a_free_one(server):
    server.start()
    server.stop()
    with PostgresServer(server.home.root.parent / "other", BIN_DIR, port=server.port) as other:
        server.start()

        assert server.port != other.port


def test_started_again_it_keeps_the_port_that_others_were_told(server):
    """The service under ``preauth dev`` has the URL of the first start."""
    server.start()
    write(server, 1)
    port = server.port
    server.kill()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(PostgresError):
            server.start()
    server.start()
    assert server.port == port
    assert read(server) == [1]


def test_it_does_not_start_with_other_programs_than_made_the_data(server):
    server.start()
    server.stop()
    (server.home.data / "PG_VERSION").write_text("14\n")

    with pytest.raises(PostgresError, match="made by PostgreSQL 14"):
        server.start()


def test_a_failing_start_shows_the_end_of_the_log_and_frees_the_directory(tmp_path):
    broken = PostgresServer(tmp_path / "data", BIN_DIR, options={"shared_buffers": "none"})

    with pytest.raises(PostgresError, match="shared_buffers"):
        broken.start()

    with PostgresServer(tmp_path / "data", BIN_DIR) as server:
        assert server.running


@as_root
def test_root_leaves_the_modes_of_directories_above_alone(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    with PostgresServer(closed / "deeper" / "data", BIN_DIR) as server:
        owner = server.home.data.stat().st_uid
        assert owner != 0
        assert Path(f"/proc/{server.pid}").stat().st_uid == owner
    assert closed.stat().st_mode & 0o777 == 0o700
    assert closed.stat().st_uid == 0


@as_root
def test_programs_that_the_other_user_cannot_reach_are_copied_and_the_copy_removed(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    package = embedded_bin_dir().parent.parent
    (closed / "site").mkdir()
    for part in (package, package.parent / f"{package.name}.libs"):
        subprocess.run(["cp", "-r", str(part), str(closed / "site")], check=True)

    bin_dir = closed / "site" / package.name / "pginstall" / "bin"
    server = PostgresServer(tmp_path / "data", bin_dir)
    with server:
        copied = server._copy.root
        assert copied.stat().st_uid == 0
        assert copied.stat().st_mode & 0o022 == 0
        write(server, 1)
    assert not copied.exists()


def test_only_an_abandoned_copy_of_ours_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("service.postgres.copies.PLACES", (str(tmp_path),))
    used = make_copy(embedded_bin_dir())
    for name in ("data", f"{PREFIX}abandoned", f"{PREFIX}just-being-made"):
        (tmp_path / name).mkdir()
    (tmp_path / f"{PREFIX}abandoned" / LOCK).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "data")

    sweep()

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"data", used.root.name, f"{PREFIX}just-being-made", f"{PREFIX}link"}
    used.remove()
    assert not used.root.exists()


def test_programs_are_asked_for_their_version(server):
    assert server._binaries.major() in {15, 16, 17, 18}
    assert Binaries(server._binaries.bin_dir).reachable_by(
        Identity(os.geteuid(), os.getegid(), "me", switched=False)
    )


@as_root
def test_root_keeps_the_owner_of_an_existing_cluster(tmp_path):
    tmp_path.chmod(0o700)
    os.chown(tmp_path, 4321, 4321)

    assert choose_identity(tmp_path) == Identity(4321, 4321, "4321", switched=True)
    assert choose_identity(tmp_path / "none").name in {"postgres", "nobody"}

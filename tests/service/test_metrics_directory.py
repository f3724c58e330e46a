"""PROMETHEUS_MULTIPROC_DIR as people set it: empty, missing, no directory. Real processes, for it is read at their start."""

import os
import subprocess
import sys

import pytest

from service.paths import SQL

NAMES = ["PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir"]


def run(directory, *command, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PREAUTH_", "PROMETH"))}
    return subprocess.run(
        [sys.executable, *command],
        cwd=directory,
        env={**environment, "PYTHONPATH": str(SQL.parent), **settings},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


COUNT = "from service import metrics as m; m.EXPIRED.inc(3); print(m.exposition().decode())"


@pytest.mark.parametrize("first", ["import service.worker", "import service.app", ""])
@pytest.mark.parametrize("name", NAMES)
def test_an_empty_one_is_unset_whatever_is_imported_first(tmp_path, name, first):
    result = run(tmp_path, "-c", f"{first}\n{COUNT}", **{name: ""})
    assert result.returncode == 0, result.stderr
    assert "preauth_expired_total 3.0" in result.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_missing_is_refused_by_name_at_the_start(tmp_path, name, workers):
    result = run(
        tmp_path,
        *("-m", "service.cli", "serve", "--workers", workers),
        PREAUTH_DATABASE_URL="postgresql:///nowhere?host=/nowhere",
        **{name: str(tmp_path / "none")},
    )
    assert result.returncode == 1
    assert (
        result.stderr == f"Error: {name}: {tmp_path / 'none'} is no directory that can be written\n"
    )


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").touch()
    result = run(tmp_path, "-m", "service.cli", "dev", PROMETHEUS_MULTIPROC_DIR="file")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1


def test_commands_that_count_nothing_do_not_mind(tmp_path):
    result = run(tmp_path, "-m", "service.cli", "version", PROMETHEUS_MULTIPROC_DIR="none")
    assert result.returncode == 0, result.stderr


def test_one_that_is_there_is_counted_in(tmp_path):
    (tmp_path / "counts").mkdir()
    result = run(tmp_path, "-c", COUNT, PROMETHEUS_MULTIPROC_DIR="counts")
    assert "preauth_expired_total 3.0" in result.stdout
    assert list((tmp_path / "counts").glob("counter_*.db"))

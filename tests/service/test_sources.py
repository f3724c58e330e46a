"""sql/ in one file: ordered, deterministic, whole."""

from service.paths import SQL
from service.schema import bundle_text, source_files


def make(directory, *names):
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"select '{name}';\n\n")


def test_the_order_is_that_of_the_paths_and_the_bundle_is_not_a_source(tmp_path):
    make(tmp_path, "050_api/b.sql", "010_first.sql", "050_api/a.sql", "090_last.sql", "bundle.sql")

    names = [path.relative_to(tmp_path).as_posix() for path in source_files(tmp_path)]

    assert names == ["010_first.sql", "050_api/a.sql", "050_api/b.sql", "090_last.sql"]


def test_the_bundle_is_one_transaction_and_the_same_every_time(tmp_path):
    make(tmp_path, "2.sql", "1.sql")

    text = bundle_text(tmp_path)

    assert text == bundle_text(tmp_path)
    assert text.index("-- 1.sql") < text.index("-- 2.sql")
    assert text.count("\nbegin;\n") == text.count("\ncommit;\n") == 1
    assert str(tmp_path) not in text


def test_the_committed_bundle_is_made_from_the_sources():
    assert (SQL / "bundle.sql").read_text() == bundle_text()

"""``preauth prices``: what it says, what it publishes, and what it leaves alone."""

import json

import psycopg
import pytest
from click.testing import CliRunner

from service.cli import main
from service.paths import EXAMPLES
from service.store import call
from tests.pricing.prices import ALL


@pytest.fixture
def run(monkeypatch, database_url):
    """The command line on a ledger."""
    monkeypatch.setenv("PREAUTH_DATABASE_URL", database_url)

    def invoke(*arguments):
        return CliRunner().invoke(main, ["prices", *arguments])

    return invoke


@pytest.fixture
def listed(run):
    """The published tables, as the command prints them."""

    def listed(*arguments):
        result = run("list", *arguments)
        assert result.exit_code == 0, result.stderr
        return [json.loads(line) for line in result.stdout.splitlines()]

    return listed


@pytest.fixture
def publish(database_url):
    """A table published by someone else."""

    def publish(model, usd, **body):
        rates = {name: {"micro_usd": micro, "per": 10**6} for name, micro in usd.items()}
        with psycopg.connect(database_url) as connection:
            table = {"model": model, "rates": rates, **body}
            return call(connection, "publish_price_table", body=table)

    return publish


@pytest.fixture
def file(tmp_path):
    """A file of LiteLLM's form."""

    def file(**models):
        path = tmp_path / "prices.json"
        path.write_text(json.dumps({key: {"mode": "chat", **m} for key, m in models.items()}))
        return str(path)

    return file


def test_a_dry_run_says_what_would_be_published_and_publishes_nothing(run, listed):
    result = run("import", "genai", "--only", "openai/gpt-5-mini*", "--dry-run")
    assert result.exit_code == 0
    assert "+ openai/gpt-5-mini\n" in result.stdout
    assert "    + output_tokens $2/1,000,000\n" in result.stdout
    assert "    also called openai/gpt-5-mini-2025-08-07\n" in result.stdout
    assert result.stderr.endswith(" to publish, 0 the same, 0 skipped\n")
    assert listed() == []


def test_an_import_publishes_what_matches_and_again_changes_nothing(run, listed):
    first = run("import", "genai", "--only", "openai/gpt-5-mini*", "--only", "mistral/codestral")
    assert first.exit_code == 0
    tables = listed()
    names = {table["name"] for table in tables}
    assert names >= {"openai/gpt-5-mini", "openai/gpt-5-mini:batch", "mistral/codestral"}
    assert all(name.startswith(("openai/gpt-5-mini", "mistral/codestral")) for name in names)
    again = run("import", "genai", "--only", "openai/gpt-5-mini*", "--only", "mistral/codestral")
    assert again.exit_code == 0
    assert "openai/gpt-5-mini\n" not in again.stdout
    assert again.stderr.startswith("0 published, ")
    assert listed() == tables


def test_an_alias_stands_for_its_model(run, listed):
    run("import", "genai", "--only", "openai/gpt-5-mini")
    [alias] = listed("--model", "openai/gpt-5-mini-2025-08-07")
    assert alias["alias_of"] == "openai/gpt-5-mini"


def test_a_difference_is_told_rate_by_rate(run, publish, file):
    publish("acme/m", {"input_tokens": 300_000, "output_tokens": 9, "citation_tokens": 1})
    source = file(
        m={
            "litellm_provider": "acme",
            "input_cost_per_token": 2.5e-07,
            "output_cost_per_token": 9e-12,
        }
    )
    result = run("import", "litellm", source, "--dry-run")
    assert result.stdout.splitlines()[0] == "~ acme/m"
    assert "    ~ input_tokens $0.3/1,000,000 -> $0.25/1,000,000" in result.stdout.splitlines()
    assert "    - citation_tokens $0.000001/1,000,000" in result.stdout.splitlines()
    assert "    + reasoning_tokens $0.000009/1,000,000" in result.stdout.splitlines()
    assert " output_tokens" not in result.stdout
    assert run("import", "litellm", source).stderr.startswith("1 published, 0 the same")


def test_what_was_skipped_and_left_out_is_said_with_the_reason(run, file):
    result = run(
        "import", "litellm",
        file(
            m={"input_cost_per_token": 1, "input_cost_per_wish": 1},
            n={"input_cost_per_token": 1, "search_context_cost_per_query": {"a": 1, "b": 2}},
        ),
    )  # fmt: skip
    assert "skipped:\n    m: input_cost_per_wish is not understood\n" in result.stdout
    assert "left out:\n    n: search_context_cost_per_query: depends on the size" in result.stdout
    assert result.stderr == "1 published, 0 the same, 1 skipped\n"


def test_a_name_with_a_price_of_its_own_is_not_made_an_alias(run, publish, listed):
    publish("openai/gpt-5-mini-2025-08-07", {"input_tokens": 1})
    result = run("import", "genai", "--only", "openai/gpt-5-mini")
    assert "    openai/gpt-5-mini-2025-08-07: it has a price, and isn't openai" in result.stdout
    [kept] = listed("--model", "openai/gpt-5-mini-2025-08-07")
    assert kept["alias_of"] is None


def test_an_alias_is_added_to_a_price_that_is_the_same(run, file, listed):
    run("import", "litellm", file(m={"input_cost_per_token": 1}))
    result = run("import", "litellm", file(m={"input_cost_per_token": 1}, newest={"alias_of": "m"}))
    assert result.stdout == "= m\n    also called newest\n"
    assert {table["name"]: table["alias_of"] for table in listed()} == {"m": None, "newest": "m"}


def test_a_refused_table_undoes_the_whole_import(run, file, listed):
    too_many = {f"alias-{n}": {"alias_of": "n"} for n in range(65)}
    entries = {"m": {"input_cost_per_token": 1}, "n": {"input_cost_per_token": 1}, **too_many}
    result = run("import", "litellm", file(**entries))
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: n: The request is malformed")
    assert listed() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["import", "genai", "--only", "nobody/*"], "no price is called nobody/*"),
        (["list", "--at", "yesterday"], "is not a time such as"),
        (["list", "--at", "2026-09-01T12:00:00"], "has no offset"),
        (["import", "litellm", "nowhere.json"], "does not exist"),
    ],
)
def test_a_mistake_is_told_in_a_line(run, arguments, said):
    result = run(*arguments)
    assert result.exit_code != 0
    assert said in result.stderr


def test_a_file_that_is_not_the_list_is_told_in_a_line(run, tmp_path):
    path = tmp_path / "prices.json"
    for text, said in (
        ("[]", "it must be an object of objects, by model"),
        ('{"sample_spec": {}, "acme/m": 5}', "acme/m must be an object"),
        (
            '{"acme/m\\ud800": {"input_cost_per_token": 1e-6}}',
            "acme/m\\ud800 has half of a surrogate pair in its text, which is no character",
        ),
    ):
        path.write_text(text)
        result = run("import", "litellm", str(path))
        assert result.exit_code == 1
        assert result.stderr == f"Error: {path}: {said}\n"


def test_a_list_can_be_of_one_name_and_of_one_time(publish, listed):
    publish("m", {"input_tokens": 1}, effective_from="2026-01-01T00:00:00Z")
    newer = publish("m", {"input_tokens": 2}, effective_from="2026-02-01T00:00:00Z")
    publish("n", {"input_tokens": 1}, effective_from="2026-01-01T00:00:00Z")
    assert [table["rates"]["input_tokens"]["micro_usd"] for table in listed("--model", "m")] == [
        2,
        1,
    ]
    assert len(listed("--at", "2026-01-15")) == 2
    [found] = listed("--model", "m", "--at", "2026-02-01T01:00:00+01:00")
    assert found["price_table_id"] == newer["price_table_id"]


def test_the_example_prices_are_those_of_the_installed_list():
    tables = {table.name: table.body() for table, _ in ALL if table.effective_from is None}
    for body in json.loads((EXAMPLES / "prices.json").read_text("utf-8")):
        listed = tables[":".join(filter(None, [body["model"], body.get("variant")]))]
        for part in ("rates", "tiers"):
            assert body.get(part) == listed.get(part), body["model"]


@pytest.fixture
def overcharged(database_url, publish):
    """Two accounts charged by a price that is per token and should be per million."""
    wrong = publish("m", {"input_tokens": 5_000_000})
    with psycopg.connect(database_url) as connection:
        budget = {"unit": "usd_nano", "window": {"kind": "lifetime"}, "limit_amount": 10**12}
        for account in ("ann", "bob"):
            call(connection, "put_account", account_id=account, body={})
            call(connection, "put_budget", account_id=account, name="cap", body=budget)
            spend = {"request_id": account, "account_id": account, "model": "m"}
            call(connection, "charge", **spend, usage={"input_tokens": 2_000_000})
    right = publish("m", {"input_tokens": 5})
    return ["--wrong", str(wrong["price_table_id"]), "--right", str(right["price_table_id"])]


YEARS = ["--since", "2020-01-01", "--until", "2999-01-01T00:00:00Z"]


def settled(database_url, account):
    with psycopg.connect(database_url) as connection:
        return call(connection, "balance", account_id=account, audit=True)["windows"][0]["settled"]


def test_a_rerating_says_what_it_would_correct_and_writes_nothing(run, overcharged, database_url):
    result = run("rerate", *overcharged, *YEARS)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "ann: 1 events, $10 -> $0.00001 (-$9.99999)",
        "bob: 1 events, $10 -> $0.00001 (-$9.99999)",
        "total: 2 events, $20 -> $0.00002 (-$19.99998)",
    ]
    assert result.stderr.splitlines() == [
        "nothing was written: --confirm writes the adjustments",
        "a window that was reset since would move all the same",
    ]
    assert settled(database_url, "ann") == 10 * 10**9


def test_a_confirmed_rerating_corrects_once(run, overcharged, database_url):
    confirmed = [*overcharged, *YEARS, "--reason", "per million", "--confirm"]
    assert "(-$19.99998)" in run("rerate", *confirmed).stdout
    assert settled(database_url, "ann") == 10**4
    assert run("rerate", *confirmed).stdout == "total: 0 events, $0 -> $0 (+$0)\n"
    assert settled(database_url, "bob") == 10**4


def test_a_rerating_by_an_unknown_table_is_told_in_a_line(run, overcharged):
    result = run("rerate", "--wrong", "1", "--right", "999", *YEARS)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")

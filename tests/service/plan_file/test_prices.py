"""``price_tables`` in a file: published with `preauth apply`, once."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import main
from tests.support.clock import Clock
from tests.support.ledger import Ledger
from tests.support.money import DOLLAR
from tests.support.prices import ask, publish, rates

FILE = """\
price_tables:
  - model: acme/chat-1
    source: price page of 2026-09-14
    aliases: [chat]
    rates:
      input_tokens: {micro_usd: 3_000_000, per: 1_000_000}
      output_tokens: {micro_usd: 15_000_000, per: 1_000_000}
  - model: acme/chat-1
    variant: batch
    tiers:
      - above_input_tokens: 0
        rates: {input_tokens: {micro_usd: 1_500_000, per: 1_000_000}}
      - above_input_tokens: 200_000
        rates: {input_tokens: {micro_usd: 3_000_000, per: 1_000_000}}
  - model: acme/chat-1
    unit: credits
    rates: {output_tokens: {amount: 1, per: 1_000}}
"""
DATED = """\
price_tables:
  - model: acme/chat-1
    effective_from: 2026-09-01T00:00:00Z
    rates: {output_tokens: {micro_usd: 15, per: 1}}
  - model: acme/chat-1
    effective_from: 2026-10-01T02:00:00+02:00
    rates: {output_tokens: {micro_usd: 30, per: 1}}
"""


@pytest.fixture
def run(tmp_path: Path, database_url: str):
    """Run a command on a file with that text."""

    def run(command: str, text: str, *options: str) -> Result:
        file = tmp_path / "plans.yaml"
        file.write_text(text, "utf-8")
        return CliRunner().invoke(
            main, [command, str(file), *options], env={"PREAUTH_DATABASE_URL": database_url}
        )

    return run


async def test_the_next_request_is_priced_by_what_the_file_says(run, ledger: Ledger, clock: Clock):
    result = run("apply", FILE, "--reason", "the new page")
    assert (result.exit_code, result.stderr) == (0, "3 changes made\n"), result.output
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    bounds = {"input_tokens": 1000, "output_tokens": 500}
    reply = await ask(ledger, "r1", "ann", bounds, model="chat")
    assert reply["lines"][0]["amount"] == 10_500_000
    logged = await ledger.connection.fetch(
        "select distinct actor, reason from preauth.change_log where subject = 'price_table'"
    )
    assert [tuple(row) for row in logged] == [("preauth apply", "the new page")]


async def test_applied_again_it_publishes_nothing(run, ledger: Ledger, clock: Clock):
    for text in (FILE, DATED.replace("chat-1", "chat-2")):
        assert run("apply", text).exit_code == 0
        clock.advance(days=30)
        before = await ledger.contents()
        result = run("apply", text)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing to change\n")
        assert await ledger.contents() == before


async def test_a_dry_run_tells_each_rate_and_writes_nothing(run, ledger: Ledger, clock: Clock):
    await publish(ledger, rates=rates(input_tokens="3", output_tokens="9", images="1"))
    clock.advance(seconds=1)
    before = await ledger.contents()
    result = run("apply", FILE, "--dry-run")
    assert result.stderr == "3 changes would be made, nothing was written\n"
    nine, fifteen = (
        f'{{"per": 1000000, "required": true, "micro_usd": {usd}000000}}' for usd in (9, 15)
    )
    image = '{"per": 1000000, "required": false, "micro_usd": 1000000}'
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f"- price_tables.acme/chat-1.rates.images: {image}",
        f"~ price_tables.acme/chat-1.rates.output_tokens: {nine} -> {fifteen}",
        '+ price_tables.acme/chat-1.aliases: ["chat"]',
    ]
    assert lines[3].startswith('+ price_tables.acme/chat-1:batch: {"tiers": [{')
    assert lines[4].startswith('+ price_tables.acme/chat-1 in credits: {"rates.output_tokens": ')
    assert await ledger.contents() == before
    assert run("apply", FILE).stdout == result.stdout


async def test_a_future_price_of_a_file_takes_effect_by_itself(run, ledger: Ledger, clock: Clock):
    assert run("apply", DATED).stdout.splitlines()[1] == (
        '~ price_tables.acme/chat-1.effective_from: "2026-09-01T00:00:00.000000Z"'
        ' -> "2026-10-01T00:00:00.000000Z"'
    )
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    held = [await ask(ledger, "r1", "ann", {"output_tokens": 10})]
    clock.set("2026-10-01T00:00:00Z")
    held.append(await ask(ledger, "r2", "ann", {"output_tokens": 10}))
    assert [reply["lines"][0]["amount"] for reply in held] == [150_000, 300_000]


async def test_what_is_published_is_never_changed_and_nothing_of_the_file_is_done(
    run, ledger: Ledger, clock: Clock
):
    run("apply", DATED)
    before = await ledger.contents()
    other = DATED.replace("micro_usd: 30", "micro_usd: 31") + "accounts:\n  ann: {}\n"
    result = run("apply", other)
    assert result.exit_code == 1
    assert "line 5: price_tables.1: acme/chat-1 already says something else" in result.stderr
    assert await ledger.contents() == before


FAULTY = [
    ("micro_usd: 15, per", "micro_usd: 0.5, per", "line 4: price_tables.0.rates.output_tokens.micro_usd: "),
    ("micro_usd: 15, per", "micro_usd: -5, per", "line 4: price_tables.0.rates.output_tokens.micro_usd: "),
    ("2026-10-01T02", "2026-10-41T02", "line 6: price_tables.1.effective_from: "),
    ("    effective_from: 2026-09-01T00:00:00Z\n", "",
     "line 2: price_tables.0: there is another table of acme/chat-1: each needs effective_from then"),
    ("    rates: {output_tokens: {micro_usd: 15", "    colour: red\n    rates: {output_tokens: {micro_usd: 15",
     "line 4: price_tables.0.colour: "),
]  # fmt: skip


@pytest.mark.parametrize(("good", "bad", "fault"), FAULTY)
def test_a_faulty_price_is_told_with_its_line_without_a_database(run, good, bad, fault):
    result = run("validate", DATED.replace(good, bad, 1))
    assert result.exit_code == 1
    assert fault in result.stderr


async def test_what_only_the_ledger_knows_is_told_with_its_line(run, ledger: Ledger, clock: Clock):
    before = await ledger.contents()
    result = run("apply", DATED.replace("output_tokens: {micro_usd: 30", "thoughts: {micro_usd: 30"))  # fmt: skip
    assert result.exit_code == 1
    assert "price_tables.1.rates.thoughts: " in result.stderr
    assert await ledger.contents() == before


def test_validate_counts_the_tables(run):
    assert run("validate", DATED).stdout.endswith(": 0 plans, 0 accounts, 2 price tables, no faults\n")  # fmt: skip

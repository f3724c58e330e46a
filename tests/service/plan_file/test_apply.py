"""``preauth apply``: what a file says is what the ledger is, with the next request."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import main
from tests.support.checks import assert_denied
from tests.support.ledger import Ledger
from tests.support.money import tokens

FILE = """\
plans:
  free:
    budgets:
      - name: cap
        unit: tokens
        window: {kind: calendar, period: month}
        limit_amount: 1000
  pro:
    budgets:
      - {name: cap, unit: tokens, window: {kind: calendar, period: month}, limit_amount: 5000}
accounts:
  ann: {plan_id: free, parent_id: org}
  org:
    time_zone: Europe/Amsterdam
    budgets:
      - {name: all, unit: tokens, window: {kind: calendar, period: week}, limit_amount: 9000}
"""


WEEK = '{"kind": "calendar", "period": "week", "week_start": "monday"}'
LIFETIME = '{"kind": "lifetime"}'


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


@pytest.fixture
def applied(run):
    result = run("apply", FILE, "--reason", "first")
    assert result.exit_code == 0, result.output
    return run


async def test_the_ledger_is_what_the_file_says_with_the_next_request(
    applied, ledger: Ledger, clock
) -> None:
    await ledger.charge("c1", "ann", tokens(900))
    assert (await ledger.window("ann"))["limit"] == 1000
    assert (await ledger.window("ann", "all", "org"))["time_zone"] == "Europe/Amsterdam"
    applied("apply", FILE.replace("limit_amount: 1000", "limit_amount: 950"))
    assert_denied(await ledger.reserve("r1", "ann", tokens(51)), "budget_exhausted", available=50)


async def test_applied_again_it_changes_nothing(applied, ledger: Ledger) -> None:
    before = await ledger.contents()
    result = applied("apply", FILE)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing to change\n")
    assert await ledger.contents() == before


async def test_a_dry_run_prints_the_difference_and_writes_nothing(applied, ledger: Ledger) -> None:
    before = await ledger.contents()
    other = FILE.replace("limit_amount: 1000", "limit_amount: 2000").replace(
        "plan_id: free", "plan_id: pro"
    )
    other = other.replace("kind: calendar, period: week}, limit", "kind: lifetime}, limit")
    result = applied("apply", other + "  bob: {}\n", "--dry-run")
    assert result.stdout.splitlines() == [
        "~ plans.free.budgets.cap.limit_amount: 1000 -> 2000",
        f"~ accounts.org.budgets.all.window: {WEEK} -> {LIFETIME}",
        '~ accounts.ann.plan_id: "free" -> "pro"',
        '+ accounts.bob: "new"',
    ]
    assert result.stderr == "4 changes would be made, nothing was written\n"
    assert await ledger.contents() == before


async def test_a_dry_run_prints_what_is_then_done(run, ledger: Ledger) -> None:
    told = run("apply", FILE, "--dry-run").stdout
    assert await ledger.count("account") == 0
    assert run("apply", FILE).stdout == told


async def test_what_becomes_of_the_unpriced_is_said_too_and_stays_where_it_is_not(
    applied, ledger: Ledger
) -> None:
    lenient = FILE.replace("  free:\n", "  free:\n    unpriced: count_only\n")
    told = '~ plans.free.unpriced: "refuse" -> "count_only"\n'
    assert applied("apply", lenient).stdout == told
    assert applied("apply", lenient).stdout == ""
    applied("apply", FILE.replace("limit_amount: 1000", "limit_amount: 950"))
    assert (await ledger.call("plan", plan_id="free"))["unpriced"] == "count_only"
    applied("apply", lenient.replace("count_only", "null"))
    assert (await ledger.call("plan", plan_id="free"))["unpriced"] == "refuse"
    strange = applied("validate", lenient.replace("count_only", "yes"))
    assert "line 3: plans.free.unpriced: " in strange.stderr


async def test_plans_change_for_the_next_window_if_asked(applied, ledger: Ledger, clock) -> None:
    await ledger.charge("c1", "ann", tokens(900))
    applied("apply", FILE.replace("plan_id: free", "plan_id: pro"), "--apply", "next_window")
    assert (await ledger.window("ann"))["limit"] == 1000
    clock.set("2026-10-01T00:00:00Z")
    assert (await ledger.window("ann"))["limit"] == 5000


async def test_a_plan_for_the_next_window_is_asked_for_once(applied, ledger: Ledger) -> None:
    await ledger.charge("c1", "ann", tokens(900))
    later = FILE.replace("plan_id: free", "plan_id: pro")
    assert applied("apply", later, "--apply", "next_window").stdout == (
        '~ accounts.ann.plan_id: "free" -> "pro"\n'
    )
    before = await ledger.contents()
    result = applied("apply", later, "--apply", "next_window")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing to change\n")
    assert await ledger.contents() == before


async def test_the_present_plan_for_the_next_window_replaces_another_that_is_scheduled(
    applied, ledger: Ledger
) -> None:
    later = FILE.replace("plan_id: free", "plan_id: pro")
    applied("apply", later, "--apply", "next_window")
    applied("apply", FILE, "--apply", "next_window")
    assert (await ledger.call("account", account_id="ann"))["next_plan_id"] == "free"
    assert applied("apply", FILE, "--apply", "next_window").stderr == "nothing to change\n"


async def test_a_plan_that_is_scheduled_but_not_in_the_file_is_cancelled(
    applied, ledger: Ledger
) -> None:
    later = FILE.replace("plan_id: free", "plan_id: pro")
    applied("apply", later, "--apply", "next_window")
    assert applied("apply", FILE).stdout == '- accounts.ann.next_plan_id: "pro"\n'
    assert "next_plan_id" not in await ledger.call("account", account_id="ann")
    assert applied("apply", FILE).stderr == "nothing to change\n"


async def test_no_plan_in_the_file_cancels_one_that_is_scheduled(applied, ledger: Ledger) -> None:
    none = FILE.replace("plan_id: free", "plan_id: null")
    applied("apply", none)
    body = {"plan_id": "pro", "at": "2099-01-01T00:00:00Z"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    assert applied("apply", none).stdout == '- accounts.ann.next_plan_id: "pro"\n'
    assert "next_plan_id" not in await ledger.call("account", account_id="ann")
    assert applied("apply", none).stderr == "nothing to change\n"


async def test_what_was_spent_goes_on_counting_under_the_other_plan(
    applied, ledger: Ledger, clock
) -> None:
    await ledger.charge("c1", "ann", tokens(900))
    applied("apply", FILE.replace("plan_id: free", "plan_id: pro"))
    assert (await ledger.window("ann"))["available"] == 4100


async def test_what_the_file_leaves_out_stays_as_it_is(applied, ledger: Ledger) -> None:
    await ledger.put_account("ann", max_open_holds=7)
    await ledger.put_account("other")
    assert applied("apply", FILE).stderr == "nothing to change\n"
    assert (await ledger.call("account", account_id="ann"))["max_open_holds"] == 7


async def test_a_budget_left_out_of_a_list_is_retired(applied, ledger: Ledger) -> None:
    two = FILE.replace(
        "limit_amount: 9000}",
        "limit_amount: 9000}\n      - {name: extra, unit: calls, window: {kind: lifetime}, limit_amount: 3}",
    )
    applied("apply", two)
    result = applied("apply", FILE)
    assert result.stdout.startswith("- accounts.org.budgets.extra: {")
    budgets = (await ledger.call("account", account_id="org"))["budgets"]
    assert [b["name"] for b in budgets] == ["all"]
    assert applied("apply", FILE).stderr == "nothing to change\n"


async def test_a_change_has_its_actor_and_reason(applied, ledger: Ledger) -> None:
    rows = await ledger.connection.fetch("select distinct actor, reason from preauth.change_log")
    assert [tuple(row) for row in rows] == [("preauth apply", "first")]


async def test_what_the_ledger_refuses_is_told_with_its_line(run, ledger: Ledger) -> None:
    result = run("apply", "accounts:\n  ann:\n    plan_id: gold\n")
    assert result.exit_code == 1
    assert "plans.yaml, line 3: accounts.ann.plan_id: There is no plan gold." in result.stderr
    assert await ledger.count("account") == 0


async def test_a_plan_that_is_not_there_is_told_by_its_own_path(run, ledger: Ledger) -> None:
    await ledger.put_account("ann")
    result = run("apply", "accounts:\n  ann:\n    plan_id: gold\n")
    assert "plans.yaml, line 3: accounts.ann.plan_id: There is no plan gold." in result.stderr


def test_the_example_plans_can_be_applied(run) -> None:
    text = Path("examples/plans.json").read_text("utf-8")
    assert run("apply", text).exit_code == 0
    assert run("apply", text).stderr == "nothing to change\n"


async def test_a_faulty_file_changes_nothing(applied, ledger: Ledger) -> None:
    before = await ledger.contents()
    result = applied("apply", FILE.replace("limit_amount: 5000", "limit_amount: 0"))
    assert result.exit_code == 1
    assert "plans.yaml, line 10: plans.pro.budgets.cap.limit_amount: is 0" in result.stderr
    assert await ledger.contents() == before


def test_validate_needs_no_database(tmp_path: Path) -> None:
    file = tmp_path / "plans.yaml"
    file.write_text(FILE, "utf-8")
    result = CliRunner().invoke(main, ["validate", str(file)])
    assert result.exit_code == 0
    assert result.output.endswith("2 plans, 2 accounts, no faults\n")
    file.write_text(FILE.replace("Amsterdam", "Amsterdm"), "utf-8")
    result = CliRunner().invoke(main, ["validate", str(file)])
    assert result.exit_code == 1
    assert f"{file}, line 14: accounts.org.time_zone: " in result.output

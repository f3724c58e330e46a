"""A file is refused as a whole, with the line and the path of everything that is wrong with it."""

from textwrap import dedent

import pytest

from service.plan_file import PlanFileError, check

GOOD = """\
plans:
  free:
    budgets:
      - name: monthly-usd
        unit: usd_nano
        window: {kind: calendar, period: month}
        limit_amount: 500_000_000
      - &rate
        name: requests-per-minute
        unit: requests
        window: {kind: fixed, seconds: 60}
        limit_amount: 60
        on_expiry: release
  pro:
    budgets: [*rate]
accounts:
  org:
    time_zone: Europe/Amsterdam
    budgets:
      - {name: cap, unit: tokens, window: {kind: lifetime}, limit_amount: null}
  "user:1": {plan_id: free, parent_id: org, cycle_anchor: 2026-01-31}
"""


def faults(text: str) -> list[str]:
    with pytest.raises(PlanFileError) as refused:
        check(dedent(text))
    return [str(fault) for fault in refused.value.faults]


def with_budget(**changed: str) -> str:
    """A file with one plan and one budget, some of whose lines are others."""
    lines = {
        "name": "cap",
        "unit": "tokens",
        "window": "{kind: calendar, period: day}",
        "limit_amount": "5",
    } | changed
    return "plans:\n  p:\n    budgets:\n      -\n" + "".join(
        f"        {key}: {value}\n" for key, value in lines.items()
    )


def test_a_good_file_says_what_the_bodies_of_rest_say() -> None:
    declared, _ = check(GOOD)
    assert declared.plans["free"].budgets[0].limit_amount == 500_000_000
    assert declared.plans["pro"].budgets == [declared.plans["free"].budgets[1]]
    assert declared.accounts["user:1"].cycle_anchor == "2026-01-31"
    assert declared.accounts["org"].budgets is not None
    assert declared.accounts["org"].budgets[0].limit_amount is None


def test_json_is_yaml() -> None:
    declared, _ = check('{"accounts": {"a": {"status": "suspended"}}}')
    assert declared.accounts["a"].status == "suspended"


def test_a_plan_that_comes_twice_is_refused_by_name() -> None:
    text = """\
        plans:
          free: {budgets: []}
          pro: {budgets: []}
          free: {budgets: []}
        """
    assert faults(text) == ["line 4: plans.free: appears twice, in line 2 too"]


def test_a_budget_that_comes_twice_is_refused_by_name() -> None:
    twice = with_budget() + with_budget().split("budgets:\n")[1]
    assert faults(twice) == ["line 10: plans.p.budgets.cap: there is a budget cap in line 5 too"]


@pytest.mark.parametrize("budgets", ["[]", "{}"])
def test_a_plan_without_budgets_is_refused_by_name(budgets: str) -> None:
    assert faults(f"plans:\n  bare:\n    budgets: {budgets}\n") == [
        "line 3: plans.bare.budgets: a plan has at least one budget"
    ]


def test_a_plan_that_says_nothing_is_refused_by_name() -> None:
    assert faults("plans:\n  bare: {}\n") == ["line 2: plans.bare.budgets: Field required"]
    assert faults("plans:\n  bare:\n") == [
        "line 2: plans.bare: has no value: write null if that is meant"
    ]


@pytest.mark.parametrize(
    ("window", "path", "hint"),
    [
        ("{kind: calendar, period: fortnight}", ".period", "'month'"),
        ("{kind: calendar}", ".period", "required"),
        ("{kind: monthly}", "", "calendar"),
        ("month", "", "must be an object"),
        ("{kind: fixed, seconds: 60s}", ".seconds", "integer"),
        ("{kind: fixed, seconds: 0}", ".seconds", "greater"),
        ("{kind: calendar, period: week, week_start: someday}", ".week_start", "monday"),
    ],
)
def test_a_period_that_cannot_be_read_is_refused(window: str, path: str, hint: str) -> None:
    (fault,) = faults(with_budget(window=window))
    assert fault.startswith(f"line 7: plans.p.budgets.cap.window{path}: ")
    assert hint in fault


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Europe/Amsterdm", "perhaps Europe/Amsterdam"),
        ("Mars/Olympus", "time zone, such as Europe/Amsterdam"),
        ("europe/amsterdam", "perhaps Europe/Amsterdam"),
        ("localtime", "no IANA time zone"),
    ],
)
def test_a_zone_that_does_not_exist_is_refused(zone: str, hint: str) -> None:
    (fault,) = faults(f"accounts:\n  a:\n    time_zone: {zone}\n")
    assert fault.startswith(f"line 3: accounts.a.time_zone: {zone} is no IANA time zone")
    assert hint in fault


def test_a_zero_limit_is_refused_unless_it_is_meant() -> None:
    (fault,) = faults(with_budget(limit_amount="0"))
    assert fault == (
        "line 8: plans.p.budgets.cap.limit_amount: is 0, which denies every spend: for unlimited"
        " write null, and if 0 is meant, zero_is_meant: true beside it"
    )
    check(with_budget(limit_amount="0", zero_is_meant="true"))
    (fault,) = faults(with_budget(zero_is_meant="true"))
    assert fault.startswith("line 9: plans.p.budgets.cap.zero_is_meant: belongs beside")


def test_a_bound_of_zero_open_holds_is_refused() -> None:
    (fault,) = faults("accounts:\n  a:\n    max_open_holds: 0\n")
    assert fault == (
        "line 3: accounts.a.max_open_holds: is 0, which denies everything: for no bound write null,"
        " to stop the account status: suspended"
    )


def test_a_budget_cannot_have_the_name_of_the_bound_on_open_holds() -> None:
    assert faults(with_budget(name="max_open_holds")) == [
        "line 5: plans.p.budgets.max_open_holds.name: is max_open_holds, a field of the account"
    ]


def test_two_budgets_of_an_account_cannot_have_one_name() -> None:
    budget = "{name: cap, unit: tokens, window: {kind: lifetime}, limit_amount: 5}"
    text = f"accounts:\n  a:\n    budgets:\n      - {budget}\n      - {budget}\n"
    assert faults(text) == ["line 5: accounts.a.budgets.cap: there is a budget cap in line 4 too"]


def test_a_limit_that_was_left_empty_is_not_taken_for_unlimited() -> None:
    assert faults(with_budget(limit_amount="")) == [
        "line 8: plans.p.budgets.0.limit_amount: has no value: write null if that is meant"
    ]


@pytest.mark.parametrize(
    "limit", ["5.0", "1e9", '"5"', "5 usd", "true", "0x10", "010", "-1", "1_00", str(2**53)]
)
def test_a_limit_is_a_whole_number_and_nothing_that_looks_like_one(limit: str) -> None:
    (fault,) = faults(with_budget(limit_amount=limit))
    assert fault.startswith("line 8: plans.p.budgets.cap.limit_amount: ")


@pytest.mark.parametrize("word", ["yes", "on", "no"])
def test_words_are_words(word: str) -> None:
    declared, _ = check(f"accounts:\n  {word}: {{plan_id: {word}}}\n")
    assert declared.accounts[word].plan_id == word


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("- plans\n", ""),
        ("plans: 3\n", "plans: "),
        ("plans: {p: 3}\n", "plans.p: "),
        ("plans: {p: {budgets: [3]}}\n", "plans.p.budgets.0: "),
        ("accounts: {a: 3}\n", "accounts.a: "),
    ],
)
def test_what_is_no_object_where_one_belongs_is_told_in_plain_words(text: str, where: str) -> None:
    assert faults(text) == [f"line 1: {where}must be an object"]


def test_a_field_that_is_not_known_is_named() -> None:
    assert faults(with_budget(limit="5")) == ["line 9: plans.p.budgets.cap.limit: unknown field"]
    assert faults("plan: {}\n") == ["line 1: plan: unknown field"]
    assert faults("accounts:\n  a:\n    reason: x\n") == [
        "line 3: accounts.a.reason: unknown field"
    ]


def test_a_name_that_is_no_id_is_refused() -> None:
    (fault,) = faults("accounts:\n  ok: {}\n  a b: {}\n")
    assert fault.startswith("line 3: accounts.a b: ")


def chain(length: int) -> str:
    """Accounts each of which stands under the next, the last one at the top."""
    under = "".join(f"  a{n}: {{parent_id: a{n + 1}}}\n" for n in range(length - 1))
    return f"accounts:\n{under}  a{length - 1}: {{}}\n"


def test_a_tree_deeper_than_the_ledger_takes_is_refused() -> None:
    check(chain(16))
    assert faults(chain(17)) == [
        "line 2: accounts.a0.parent_id: has 16 or more accounts above it",
    ]


def test_a_chain_of_thousands_is_refused_without_climbing_all_of_it_for_each() -> None:
    assert len(faults(chain(3000))) == 3000 - 16


def test_a_ring_of_parents_is_refused() -> None:
    text = "accounts:\n  a: {parent_id: b}\n  b: {parent_id: c}\n  c: {parent_id: a}\n"
    assert (
        faults(text)[0] == "line 2: accounts.a.parent_id: goes in a ring: a under b under c under a"
    )
    assert len(faults(text)) == 3
    assert faults("accounts:\n  a:\n    parent_id: a\n") == [
        "line 3: accounts.a.parent_id: goes in a ring: a under a"
    ]


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_lines() -> None:
    text = """\
        accounts:
          b: {time_zone: Nowhere}
          a: {max_open_holds: 0}
        plans:
          p:
            budgets:
              - {name: x, unit: tokens, window: {kind: lifetime}, limit_amount: 0}
        """
    assert [fault.split(":")[0] for fault in faults(text)] == ["line 2", "line 3", "line 7"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "line 1: the file is empty"),
        ("plans: [", "line 1: not YAML"),
        ("plans:\n\t- x\n", "line 2: not YAML"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("- plans\n", "line 1: "),
        ("plans: {<<: {}}\n", "line 1: plans: has a merge key"),
        ("plans: {[a]: 1}\n", "line 1: plans: has a key that is no text"),
        ("plans: !!python/object:os.system {}\n", "line 1: plans: has the tag"),
        ("accounts: &a {x: *a}\n", "nested too deeply"),
        ("\x00", "not YAML"),
        ("a: *nowhere\n", "not YAML"),
        pytest.param("[" * 20_000, "line 1: nested too deeply", id="brackets"),
        pytest.param("- " * 20_000, "line 1: nested too deeply", id="dashes"),
        pytest.param(f"\nplans: {'9' * 10_000}", "line 2: plans: is a number of too", id="digits"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_line(text: str, hint: str) -> None:
    assert hint in faults(text)[0]


HALF = "has half of a surrogate pair, which is no character"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('plans:\n  "a\\ud800": {}\n', f"line 2: plans: a key {HALF}"),
        ('plans:\n  a: "\\udfff"\n', f"line 2: plans.a: {HALF}"),
        ('plans:\n  - "\\udfff"\n', f"line 2: plans.0: {HALF}"),
        ('\n"x\\ud800":\n', f"line 2: a key {HALF}"),
        ('{"x\\ud800": ' * 20 + "1" + "}" * 20, f"line 1: a key {HALF}"),
        ('a: 1\nb: "\\Uffffffff"\n', "line 2: not YAML: an escape that is no character"),
        ('a: 1\n"\\U00110000": 1\n', "line 2: not YAML: an escape that is no character"),
    ],
)
def test_text_that_is_no_unicode_is_refused_with_its_line(text: str, fault: str) -> None:
    assert faults(text) == [fault]


def test_an_alias_bomb_does_not_go_off() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "aliased too often" in faults("\n".join(lines))[0]

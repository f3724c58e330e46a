"""What an import would change, version by version."""

from datetime import UTC, datetime

from service.pricing.difference import Change, changes, matching
from service.pricing.rates import Rate
from service.pricing.tables import Catalogue, Skipped, Table, Tier

NOW = datetime(2026, 9, 14, tzinfo=UTC)
LATER = datetime(2027, 1, 1, tzinfo=UTC)


def tiers(micro_usd, per=10**6):
    return (Tier(0, {"input_tokens": Rate(micro_usd, per)}),)


def table(micro_usd, start=None, **more):
    return Table("m", None, tiers(micro_usd), "a list", start, **more)


def row(micro_usd, start, name="m", per=10**6, **more):
    """A published table, as the ledger tells it."""
    rates = {"input_tokens": {"micro_usd": micro_usd, "per": per, "required": True}}
    return {
        "name": name, "unit": "usd_nano", "effective_from": start.isoformat(), "alias_of": None,
        "rates": rates, "tiers": None, **more,
    }  # fmt: skip


def found(*tables):
    return Catalogue(list(tables))


def test_the_first_of_its_name_is_new():
    new = table(1)
    assert list(changes(found(new), [], NOW)) == [Change(new, None, (), True)]


def test_the_same_price_written_otherwise_is_no_change():
    assert list(changes(found(table(2)), [row(20, NOW, per=10**7)], NOW)) == []


def test_another_price_takes_the_place_of_the_one_in_effect():
    published = [row(1, datetime(2026, 1, 1, tzinfo=UTC)), row(2, NOW), row(9, LATER)]
    [change] = changes(found(table(3)), published, NOW)
    assert change.before == tiers(2)


def test_a_later_price_is_compared_with_what_will_stand_then():
    published = [row(1, datetime(2026, 1, 1, tzinfo=UTC))]
    assert list(changes(found(table(1), table(1, LATER)), published, NOW)) == []
    [change] = changes(found(table(1), table(2, LATER)), published, NOW)
    assert (change.table.effective_from, change.before) == (LATER, tiers(1))
    first, second = changes(found(table(5), table(1, LATER)), published, NOW)
    assert (first.before, second.before) == (tiers(1), tiers(5))


def test_a_price_that_is_published_for_after_the_year_9999_is_never_reached():
    last = {**row(9, LATER), "effective_from": "10000-01-01T13:59:59.000000Z"}
    assert list(changes(found(table(1)), [row(1, NOW), last], NOW)) == []
    alias = {**last, "name": "m-1", "alias_of": "m", "rates": None}
    [change] = changes(found(table(2, aliases=("m-1",))), [row(1, NOW), last, alias], NOW)
    assert (change.before, change.aliases) == (tiers(1), ())


def test_a_date_that_has_another_price_already_is_skipped():
    catalogue = found(table(2, LATER))
    assert list(changes(catalogue, [row(1, LATER)], NOW)) == []
    assert catalogue.skipped == [Skipped("m", "another price is published from 2027-01-01")]
    assert list(changes(found(table(1, LATER)), [row(1, LATER)], NOW)) == []


def test_a_name_with_two_prices_at_once_is_skipped():
    catalogue = found(table(1), table(2))
    assert list(changes(catalogue, [], NOW)) == []
    assert catalogue.skipped == [Skipped("m", "the list has two prices for it")]


def test_a_price_in_another_unit_is_another_price():
    [change] = changes(found(table(1)), [row(1, NOW, unit="credits")], NOW)
    assert change.before is None


def test_an_alias_that_gets_a_price_is_an_alias_no_more():
    alias = {**row(1, NOW), "alias_of": "n", "rates": None}
    [change] = changes(found(table(1)), [alias], NOW)
    assert change.before is None


def test_new_aliases_alone_are_a_change_and_known_ones_are_none():
    alias = {**row(1, NOW, "m-1"), "alias_of": "m", "rates": None}
    wanted = table(1, aliases=("m-1", "m-2"))
    [change] = changes(found(wanted), [row(1, NOW), alias], NOW)
    assert (change.aliases, change.priced) == (("m-2",), False)
    assert list(changes(found(table(1, aliases=("m-1",))), [row(1, NOW), alias], NOW)) == []


def test_tiers_are_compared_whole():
    tiered = Table("m", None, (*tiers(1), Tier(9, {"input_tokens": Rate(2, 10**6)})), "a list")
    published = row(1, NOW)
    [change] = changes(found(tiered), [published], NOW)
    assert change.before == tiers(1)
    published["tiers"] = tiered.body()["tiers"]
    assert list(changes(found(tiered), [published], NOW)) == []


def test_names_match_by_pattern_and_case():
    catalogue = Catalogue(
        [table(1), Table("n", "batch", tiers(1), "a list")],
        [Skipped("n/x", "r")],
        [Skipped("M", "r")],
    )
    assert [t.name for t in matching(catalogue, ["m"]).tables] == ["m"]
    picked = matching(catalogue, ["n*"])
    assert ([t.name for t in picked.tables], picked.skipped) == (["n:batch"], [Skipped("n/x", "r")])
    assert matching(catalogue, ["m"]).left_out == []
    assert matching(catalogue, []) == catalogue

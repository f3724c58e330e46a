"""Integer rates that are exactly the price, or none."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.pricing.rates import MOST, InexactRateError, Rate, rate_of

MILLION = 10**6


@pytest.mark.parametrize(
    ("usd", "per", "rate"),
    [
        ("1.25", MILLION, (1_250_000, MILLION)),
        ("0", MILLION, (0, MILLION)),
        ("0.02", MILLION, (20_000, MILLION)),
        ("0.25", 1, (250_000, 1)),
        ("9007199254.740991", 6361, (MOST, 6361)),
        ("0.000001", MILLION, (1, MILLION)),
        ("0.0000125", MILLION, (125, 10 * MILLION)),
        ("0.27999999999999997", MILLION, None),
        ("1.0399999999999998", MILLION, (5_199_999_999_999_999, 5 * 10**15)),
        ("0.0833333333333333", MILLION, None),
        ("10", 1000, (10_000_000, 1000)),
        ("0.111", 3600, (111_000, 3600)),
        ("9007199254.740991", 1, (MOST, 1)),
        ("9007199254.740992", 1, None),
        ("-1", MILLION, None),
        ("NaN", MILLION, None),
        ("Infinity", MILLION, None),
        ("1e-40", MILLION, None),
        ("1e999999", MILLION, None),
        ("1e-999999999", MILLION, None),
        ("0." + "1" * 100_000, MILLION, None),
    ],
)
def test_a_price_is_whole_numbers_or_refused(usd, per, rate):
    if rate is None:
        with pytest.raises(InexactRateError):
            rate_of(Decimal(usd), per)
    else:
        assert rate_of(Decimal(usd), per) == rate


@pytest.mark.parametrize(
    ("usd", "message"),
    [
        ("-1", "-1 is not a price"),
        ("NaN", "NaN is not a price"),
        ("1E-30", "1E-30 has more digits than a rate can hold exactly"),
        ("1E-31", "1E-31 has too many digits"),
        ("1E+31", "1E+31 has too many digits"),
        ("1." + "1" * 29, f"1.{'1' * 29} has more digits than a rate can hold exactly"),
        ("1." + "1" * 30, f"1.{'1' * 30} has too many digits"),
    ],
)
def test_a_price_that_is_refused_is_named_with_the_reason(usd, message):
    with pytest.raises(InexactRateError) as refused:
        rate_of(Decimal(usd), MILLION)
    assert str(refused.value) == message


@settings(deadline=None)
@given(
    usd=st.decimals(0, 10**6, places=9) | st.decimals(0, 1, places=15),
    per=st.sampled_from([1, 60, 1000, 3600, MILLION]),
)
def test_a_rate_is_the_price_to_the_last_digit(usd, per):
    try:
        rate = rate_of(usd, per)
    except InexactRateError:
        assert (Fraction(usd) * MILLION / per).denominator * 10 > MOST or usd * MILLION > MOST // 10
    else:
        assert Fraction(rate.micro_usd, rate.per) == Fraction(usd) * MILLION / per
        assert max(rate) <= MOST


def test_a_rate_can_be_for_a_million_whatever_the_price_is_for():
    assert rate_of(Decimal("2.5e-07"), 1, MILLION) == (250_000, MILLION)
    assert rate_of(Decimal("1.25e-13"), 1, MILLION) == (125, 1000 * MILLION)
    assert rate_of(Decimal("0.25"), MILLION, MILLION) == (250_000, MILLION)


def test_a_rate_reads_as_dollars_with_every_digit():
    assert Rate(1_250_000, MILLION).usd == "$1.25/1,000,000"
    assert Rate(125, 10 * MILLION).usd == "$0.000125/10,000,000"
    assert Rate(0, 1).usd == "$0/1"

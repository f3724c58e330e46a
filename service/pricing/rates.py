"""Integer rates that are exactly what a price list says, or none."""

from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

__all__ = ["MOST", "InexactRateError", "Rate", "rate_of"]

MOST: Final = 2**53 - 1
"""The largest whole number that every JSON reader reads exactly."""

MICRO: Final = 10**6
MOST_DIGITS: Final = 30


class InexactRateError(ValueError):
    """A price that no pair of whole numbers within `MOST` expresses to the last digit."""


class Rate(NamedTuple):
    """``micro_usd`` millionths of a US dollar for every ``per`` units."""

    micro_usd: int
    per: int

    @property
    def exact(self) -> Fraction:
        """Micro-USD for one unit."""
        return Fraction(self.micro_usd, self.per)

    @property
    def usd(self) -> str:
        """What a person reads: the dollars for ``per`` units, every digit of them."""
        whole, micro = divmod(self.micro_usd, MICRO)
        return f"${whole}.{micro:06d}".rstrip("0").rstrip(".") + f"/{self.per:,}"


def rate_of(usd: Decimal | int, per: int, at_least: int = 1) -> Rate:
    """The rate for ``usd`` dollars every ``per`` units: nothing is rounded.

    ``per`` is multiplied to ``at_least`` that, and then by powers of ten until the micro-dollars
    are whole.

    Raises:
        InexactRateError: it is negative, not a number, or has more digits than fit.
    """
    usd = Decimal(usd)
    if not usd.is_finite() or usd < 0:
        raise InexactRateError(f"{usd} is not a price")
    if usd and (abs(usd.adjusted()) > MOST_DIGITS or len(usd.as_tuple().digits) > MOST_DIGITS):
        raise InexactRateError(f"{usd} has too many digits")
    exact = Fraction(usd) * MICRO
    scale = -(-at_least // per)
    while (exact * scale).denominator != 1:
        scale *= 10
    return _within(usd, int(exact * scale), per * scale)


def _within(usd: Decimal, micro_usd: int, per: int) -> Rate:
    if max(micro_usd, per) > MOST:
        least = Fraction(micro_usd, per)
        micro_usd, per = least.numerator, least.denominator
    if max(micro_usd, per) > MOST:
        raise InexactRateError(f"{usd} has more digits than a rate can hold exactly")
    return Rate(micro_usd, per)

"""What was seen of one budget window: who asked when, who was told what when."""

from dataclasses import dataclass

__all__ = ["Op"]


@dataclass(frozen=True, slots=True)
class Op:
    """One call's part in a window. It took effect at one instant between its two times.

    ``used`` below is what the window counts, settled and reserved together.
    """

    invoked: float
    """When the caller first sent it, by the one clock of all callers."""
    answered: float
    """When the first whole answer had come."""
    delta: int = 0
    """By how much it moved ``used``: above 0 a hold or a charge, below 0 what came back."""
    fits: int | None = None
    """It was authorized for so much: ``used + fits`` was within the limit."""
    lacks: int | None = None
    """It was denied so much: ``used + lacks`` was above the limit."""
    left: int | None = None
    """The answer said that so much was available after it."""
    name: str = ""
    hint: float | None = None
    """When it probably took effect, by any one clock: it only tells the search where to look first."""

    def possible(self, used: int, limit: int) -> bool:
        """Whether the window could have answered so at that moment."""
        if self.fits is not None and used + self.fits > limit:
            return False
        if self.lacks is not None and used + self.lacks <= limit:
            return False
        return self.left is None or limit - used - self.delta == self.left

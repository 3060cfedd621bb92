"""The reason why a bootstrap stands where it does: kept from its placement by the compiler to the report."""

from __future__ import annotations

from math import inf

from latticework.lazy_dataclass import dataclass

UNTIL = ("bootstrap", "iteration", "condition", "result")
FIRST = ("product", "linear map", "polynomial", "")


@dataclass(frozen=True, slots=True)
class LoopStrategy:
    """A strategy to bootstrap in a loop that was weighed.

    every       iterations of a group, after which its bootstraps run again; 0: all iterations are copied
    bootstraps  ciphertexts that are bootstrapped in a group, or in all copies
    seconds     predicted of an iteration, on average
    """

    every: int
    bootstraps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RefreshReason:
    """The levels that a value has left, and what wants more of them.

    left     levels above the floor that the value has at most where it is bootstrapped; most: that a bootstrap leaves
    spent    levels that are spent behind it, at most, until `until`: "bootstrap" (the next), "iteration" (the end of
             one), "condition" (the end of a branch) or "result"; until_line: of the user's program, 0: not known
    first    what spends the first of them, such as "product"; first_line: its line; "" and 0 where nothing does
    loop     line of the loop around it, 0: there is none;  every: iterations of that loop from one to the next
    carried  whether it is what that loop carries from one iteration to the next
    ways     that were weighed for that loop, the one that was taken first; none where its planner had no choice
    """

    left: int
    most: int
    spent: int
    until: str
    until_line: int = 0
    first: str = ""
    first_line: int = 0
    loop: int = 0
    every: int = 1
    carried: bool = False
    ways: tuple[LoopStrategy, ...] = ()

    def is_sound(self) -> bool:
        """Whether it can be one, as far as it says by itself."""
        lines = (self.until_line, self.first_line, self.loop)
        return (
            0 <= self.left <= self.most and 0 <= self.spent <= self.most and self.every >= 1 and min(lines) >= 0
            and self.until in UNTIL and self.first in FIRST
            and all(way.every >= 0 and way.bootstraps >= 0 and 0 <= way.seconds < inf for way in self.ways)
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CallReason:
    """The reason for the bootstrap that an instruction calls."""

    block: int
    place: int
    reason: RefreshReason

"""The modulus chain: primes by level, and the levels that a program takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Annotated

from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import ClientSpec
from latticework.report.blocks import Cell, Section, Words
from latticework.report.figure_labels import Column, number, table
from latticework.report.quantities import power_of_two


@dataclass(frozen=True, slots=True)
class LevelUse:
    """The levels that a program takes: its inputs are encrypted at level `first`, its outputs leave at level `last`.

    chain      levels of the modulus chain, which is at least what a program without bootstraps spends
    refreshed  of them, that bootstraps leave; None on a chain without
    """

    first: int
    last: int
    chain: int
    refreshed: int | None = None

    @property
    def spent(self) -> int:
        """Levels between inputs and outputs."""
        return self.first - self.last

    def data(self) -> dict[str, int]:
        """The record's JSON form."""
        return {"spent": self.spent, "first": self.first, "last": self.last, "chain": self.chain}

    def spent_text(self) -> str:
        """The number of levels that the program takes, as text."""
        return f"{self.spent} spent" if self.refreshed is None else f"{self.refreshed} left by bootstraps"

    def from_to(self) -> str:
        """Levels of inputs, of outputs and of the chain, as text."""
        return f"inputs at level {self.first}, outputs at level {self.last}; the modulus chain has {self.chain}"


def _join_numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One level of the main track: the primes that rescaling it removes, and what is left below it."""

    level: Annotated[int, Column("", "level {}".format)]
    limbs: Annotated[tuple[int, ...], Column("limbs", _join_numbers)]
    prime_bits: Annotated[tuple[float, ...], Column("prime bits", _primes)]
    scale: Annotated[float, number("scale", lambda scale: Cell(power_of_two(scale), "power"))]
    log2_modulus: Annotated[float, number("log2 Q", "{:.1f}".format)]
    digits: Annotated[tuple[int, ...], number("digit", _join_numbers)]


def _primes(bits: Sequence[float]) -> Cell:
    return Cell(", ".join(f"{b:.2f}" for b in bits), "chips")


def chain_section(levels: Sequence[LevelRow], special: Sequence[float], digits: Sequence[Sequence[int]]) -> Section:
    """Every level, and the primes that are used inside key switches alone."""
    said = f"Special primes: {' + '.join(f'{b:.2f}' for b in special)} bits."
    note = "one key-switching digit" if len(digits) == 1 else f"{len(digits)} key-switching digits"
    under = Words((said,), data={"levels.special_bits": special, "levels.digits": digits})
    return Section("Modulus chain", (table("levels.moduli", LevelRow, levels), under), note)


def level_use(client: ClientSpec) -> LevelUse:
    """Compute the levels from the highest input to the lowest output."""
    top = client.chain.main.top
    first = max((i.level for i in client.secret_inputs), default=top)
    refreshed = top - client.chain.floor if client.chain.bootstrap is not None else None
    return LevelUse(first, first - client.levels_spent, top, refreshed)


def level_rows(chain: ModulusChain) -> tuple[LevelRow, ...]:
    """Levels of the main track from the top down."""
    track = chain.main
    digit_of = {limb: place for place, digit in enumerate(chain.digits) for limb in digit}
    return tuple(
        LevelRow(
            level,
            track.groups[level],
            tuple(log2(p) for p in chain.limb_primes(track.groups[level])),
            track.scales[level],
            log2(chain.modulus(level)),
            tuple(dict.fromkeys(digit_of[limb] for limb in track.groups[level] if limb in digit_of)),
        )
        for level in range(track.top, -1, -1)
    )

"""LevelPlan: what is decided about levels, as a value: how each value is made, and what stands at every use of it.

A value of a `vec` module is made with a level, a scale and a degree. What reads it may need others; the steps between
stand in the plan at the use, in the order in which they are written. A plan knows no primes: levels are counted down
from the top of whatever chain it is written for, which is 0, and scales are told by the ladder of that chain.

    decide  makes a plan of a module (for BFV `decide_bfv`)
    write   makes the module of ciphertexts from a plan and a chain, and decides nothing
    check   reads the plan back from the types of what was written
    text    prints it

A step is a class with its rule in `after`: what a value is like once it stands there. Bootstraps are operations of the
module, since who places them decides where values are made anew; a plan with them is for chains on which a bootstrap
leaves `residual` levels, and none of its values lies below the floor, where a bootstrap starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from latticework.compiler.levels.depth import LoopPlan
from latticework.ir import Module, Op, Value
from latticework.lazy_dataclass import dataclass


class Scale(NamedTuple):
    """A scale by the ladder: the canonical scale of the level, to a power, over a number."""

    power: int
    over: float = 1.0

    def on(self, ladder: float) -> float:
        """The scale where the level has this canonical one."""
        scale = 1.0
        for _ in range(self.power):
            scale *= ladder
        return scale / self.over

    def __str__(self) -> str:
        power = "ladder" if self.power == 1 else f"ladder^{self.power}"
        return power if self.over == 1.0 else f"{power} / {self.over:g}"


TOP = 0  # the level that others are counted down from
LADDER = Scale(1)
PRODUCT = Scale(2)


class CipherState(NamedTuple):
    """The state of a ciphertext.

    level   of its type, counted down from the top
    degree  polynomials - 1
    """

    level: int
    scale: Scale = LADDER
    degree: int = 1

    @property
    def is_settled(self) -> bool:
        """Whether it lies on the ladder, at degree 1."""
        return self.degree == 1 and self.scale == LADDER

    def __str__(self) -> str:
        return f"level {self.level}, {self.scale}, degree {self.degree}"


State = CipherState | None  # None: a public vector or integer


@dataclass(frozen=True, slots=True)
class Encrypt:
    """A public vector becomes a trivial ciphertext."""

    level: int
    scale: Scale = LADDER


@dataclass(frozen=True, slots=True)
class Encode:
    """A public vector becomes a plaintext; `addend`: of those that are added, where these have another form."""

    level: int
    scale: Scale = LADDER
    addend: bool = False


@dataclass(frozen=True, slots=True)
class Negate:
    """Negation of a ciphertext that is subtracted from a public vector."""


@dataclass(frozen=True, slots=True)
class Settle:
    """The relinearisation and rescale that a product left pending, onto the ladder.

    summed  booked on the lines of the products that the value is the sum of, instead of the operation's own
    """

    relinearize: bool
    rescale: bool
    summed: bool = True


@dataclass(frozen=True, slots=True)
class Drop:
    """A ciphertext on the ladder, of any degree under BFV, comes down to a level, exactly onto the ladder there."""

    level: int


Step = Encrypt | Encode | Negate | Settle | Drop


def after(state: State, step: Step) -> State:
    """The state of an operand after a step."""
    match step:
        case Settle(relinearize, rescale):
            assert state is not None
            scale, level = (LADDER, state.level - 1) if rescale else (state.scale, state.level)
            return CipherState(level, scale, 1 if relinearize else state.degree)
        case Drop(level):
            assert state is not None and state.scale == LADDER and level < state.level, (state, step)
            return state._replace(level=level)
        case Encrypt(level, scale):
            assert state is None
            return CipherState(level, scale)
        case Encode():
            assert state is None
            return None
        case Negate():
            assert state is not None
            return state


class NumberOp(StrEnum):
    """Operations of a ciphertext and a number in all slots, rounded at a scale of the chain when it is written."""

    PLUS = "plus number"
    MINUS = "minus number"
    TIMES = "times number"  # at the scale of the ladder, so that the product is pending
    TIMES_INTEGER = "times integer"
    LABEL = "label"  # a scale by which another number is read


@dataclass(frozen=True, slots=True)
class OpPlan:
    """The code that is written for one operation of the `vec` module, and the steps around it.

    writes  an operation of the dialects of ciphertexts, or a `NumberOp`; "" for public vectors, which are encoded
            where they are used
    reads   the numbers of the operands that it has, in its order
    before  steps on operands by their numbers, in the order in which they are written
    after   a step on the result, or None
    """

    writes: str
    reads: tuple[int, ...] = ()
    before: tuple[tuple[int, Step], ...] = ()
    after: Settle | None = None


@dataclass(frozen=True)
class LevelPlan:
    """The levels of a module, on any chain that is long enough.

    module  vec IR, in which loops that spend levels are copies
    scheme  "ckks" or "bfv"
    states  every value as it is made, after the step of its operation; None: public
    ops     every operation, nested ones too, ends of blocks included
    loops   what became of every loop of the program, with those of which `module` has copies
    depth   levels that it takes
    residual  levels that bootstraps of the chain can leave, if it is for one with bootstraps
    is_lowered  whether values come down before they are computed with, though nothing lower meets them yet
    """

    module: Module
    scheme: str
    states: Mapping[Value, State]
    ops: Mapping[Op, OpPlan]
    loops: Mapping[Op, LoopPlan]
    depth: int
    residual: int | None = None
    is_lowered: bool = False

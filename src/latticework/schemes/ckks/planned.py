"""Operations that the compiler's expand stage writes out: each is a small module, made into a plan and run as one.

So a linear transform or a polynomial is the same sequence of primitive steps here as in a compiled program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.codegen.emit_code import Code
from latticework.compiler.codegen.generate import generate
from latticework.compiler.expand.primitive_builder import Primitives
from latticework.errors import LevelError, ScaleError, ShapeError
from latticework.ir import Block, Builder, Module, Value
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.ir.lines import user_loc
from latticework.lazy_dataclass import dataclass
from latticework.plan.files.code_file import encode_code
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bootstrap_noise import BootstrapStep
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.schemes.ckks.ckks_checks import scale_text
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.rlwe.checks import fail
from latticework.schemes.rlwe.parameters import need_special
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import ConstRef

MAX_EXCESS = 2.0**8  # of an operand's scale over that of its level: beyond, a rescale is pending


@dataclass(frozen=True)
class Place:
    """The shape of an operand, which decides the plan of an operation."""

    slots: int
    level: int
    scale: float


@dataclass(frozen=True)
class Compiled:
    """The plan of one operation at one place.

    keys       evaluation keys that it needs
    constants  public vectors, gathered from `sources` when they are first encoded
    steps      the same plan for those who follow it on something else than ciphertexts
    """

    code: _core.Plan
    keys: tuple[KeySpec, ...]
    constants: tuple[ConstRef, ...]
    sources: dict[str, npt.NDArray[Any]]
    steps: Code

    def constant(self, number: int) -> npt.NDArray[np.complex128]:
        """The slot vector of a constant."""
        return self.constants[number].evaluate(self.sources).astype(np.complex128)


@dataclass(frozen=True)
class PlannedStep:
    """A bootstrap as one step, and where its result lies."""

    bootstrap: BootstrapStep
    level: int
    scale: float


class PlannedOperation(ABC):
    """Something that takes one ciphertext of degree 1 to another and is planned once for each place it starts from."""

    name = "operation"

    def __init__(self) -> None:
        self._plans: dict[tuple[ModulusChain, Place], Compiled] = {}

    @abstractmethod
    def _build(self, p: Primitives, x: Value, module: Module) -> Value:
        """Write the operation in the rlwe and ckks dialects."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Levels that it spends."""

    @property
    def slots(self) -> int | None:
        """Length of the vectors it is made for; None for any."""
        return None

    def required_keys(
        self, parameters: Parameters, *, level: int | None = None, slots: int | None = None
    ) -> tuple[KeySpec, ...]:
        """The evaluation keys it needs for ciphertexts at a level: `KeyGenerator.evaluation_keys(required=...)`.

        level  the highest if not given;  slots  of the ciphertexts, N/2 if neither this nor the operation says
        """
        need_special(f"{self.name}: required_keys", parameters)
        level = parameters.check_level(f"{self.name}: required_keys", parameters.levels if level is None else level)
        width = self.slots or slots or parameters.slots
        return self._plan_for(parameters, Place(width, level, parameters.scales[level])).keys

    def _step(self, chain: ModulusChain, place: Place) -> PlannedStep | None:
        """The operation as one step, where bounds are not carried along its code."""
        return None

    def _check(self, x: Ciphertext) -> None:
        """LevelError, ScaleError or ShapeError if x cannot be an operand; MissingKeyError where it has no keys."""
        need_special(self.name, x.parameters)
        if x.degree != 1:
            fail(ShapeError, f"{self.name}: the operand at level {x.level} has degree {x.degree}; relinearize it first")
        canonical = x.parameters.scales[x.level]
        if self.depth > 0 and x.level > 0 and x.scale > MAX_EXCESS * canonical:
            fail(
                ScaleError,
                f"{self.name}: the operand has scale {scale_text(x.scale)} at level {x.level}, where "
                f"{scale_text(canonical)} is usual; settle or rescale it first",
            )
        self._check_place(Place(x.slots, x.level, x.scale))

    def _check_place(self, place: Place) -> None:
        if self.slots not in (None, place.slots):
            fail(
                ShapeError,
                f"{self.name}: made for {self.slots} slots, the ciphertext has {place.slots}; make it with "
                f"slots={place.slots}, or encrypt vectors of {self.slots}",
            )
        if place.level < self.depth:
            fail(
                LevelError,
                f"{self.name}: spends {self.depth} levels, the ciphertext is at level {place.level}; apply it at level "
                f"{self.depth} or above",
            )

    def _plan_for(self, parameters: Parameters, place: Place) -> Compiled:
        """The plan for a place, made once."""
        self._check_place(place)
        key = (parameters.chain, place)
        if key not in self._plans:
            self._plans[key] = _compile(self, parameters.chain, place)
        return self._plans[key]


def _compile(operation: PlannedOperation, chain: ModulusChain, place: Place) -> Compiled:
    body = Block()
    module = Module(body, ["x"], ["y"])
    x = body.add_arg(CipherType("ckks", 1, place.slots, Level(0, place.level), place.scale))
    p = Primitives(Builder(body, user_loc()), chain)
    p.builder.create("loop.yield", [operation._build(p, x, module)])
    made = generate(module, chain)
    plan = _core.Plan(core_parameters(chain), encode_code(made.code))
    constants = tuple(c for c in made.code.constants if isinstance(c, ConstRef))  # one vector to one: no block maps
    return Compiled(plan, made.keys, constants, dict(made.module.sources), made.code)

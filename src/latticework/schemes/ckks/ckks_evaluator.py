"""The evaluator: exact operations, automatic alignment for operators, and planned operations."""

from __future__ import annotations

from typing import NoReturn
from weakref import WeakKeyDictionary

import numpy.typing as npt

from latticework.errors import LevelError, MissingKeyError
from latticework.schemes.ckks.bootstrapper import Bootstrapper
from latticework.schemes.ckks.ckks_checks import is_close, is_real_number
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext
from latticework.schemes.ckks.ckks_keys import EvaluationKeys
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.ckks.ckks_polynomials import Polynomial
from latticework.schemes.ckks.exact import ExactOperations, Operand
from latticework.schemes.ckks.linear_maps import Diagonals, InnerSum, LinearTransform
from latticework.schemes.ckks.planned import Compiled, Place, PlannedOperation
from latticework.schemes.rlwe.checks import fail, needs, whole
from latticework.schemes.rlwe.ciphertext_lists import batch
from latticework.schemes.rlwe.device_placement import place_operands
from latticework.schemes.rlwe.encodings import check_slots
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec

MOST_NAMED = 6  # keys that a message names
FREE_FACTOR = 1 << 16  # whole numbers up to this multiply without a level


class Evaluator(ExactOperations):
    """Computes on ciphertexts.

    keys            evaluation keys; without them all works that needs none
    align           False: operands must fit exactly, and errors say what to do. True: add, sub, mul and square align
                    their operands as operators do
    constant_bytes  memory for the encoded vectors of each planned operation; beyond it they are encoded anew
    """

    def __init__(
        self,
        parameters: Parameters,
        keys: EvaluationKeys | None = None,
        *,
        align: bool = False,
        constant_bytes: int = 1 << 30,
    ) -> None:
        super().__init__(parameters, keys, align=align)
        self._constant_bytes = constant_bytes
        self._sums: dict[tuple[int, int], InnerSum] = {}
        self._executors: WeakKeyDictionary[PlannedOperation, dict[Place, _core.Executor]] = WeakKeyDictionary()

    def _anew(self, parameters: Parameters, keys: EvaluationKeys | None) -> Evaluator:
        return Evaluator(parameters, keys, align=self.align, constant_bytes=self._constant_bytes)

    # -- automatic alignment -----------------------------------------------------------------

    @batch
    def settle(self, x: Ciphertext) -> Ciphertext:
        """Relinearise and rescale what is pending: degree 1, at the canonical scale where that is possible."""
        self._own("settle", x)
        while self._is_wide(x):
            x = self.relinearize(x, rescale=True)
        return self.relinearize(x)

    def _is_wide(self, x: Ciphertext) -> bool:
        """Whether a rescale brings the scale nearer to the canonical one."""
        if x.level == 0 or x.scale <= 2.0 * self.parameters.scales[x.level]:
            return False
        return x.scale / self.parameters.dropped(x.level) >= 0.5 * self.parameters.scales[x.level - 1]

    @place_operands
    def aligned(self, a: Ciphertext, b: Ciphertext) -> tuple[Ciphertext, Ciphertext]:
        """Both settled, at one level and scale: the higher is brought down to the lower.

        raises  LevelError where scales differ at one level and no lower one is left
        """
        a, b = self.settle(self._own("aligned", a)), self.settle(self._own("aligned", b))
        if a.level == b.level and is_close(a.scale, b.scale):
            return a, b
        level = min(a.level, b.level)
        canonical = self.parameters.scales[level]
        if any(x.level == level and not is_close(x.scale, canonical) for x in (a, b)):
            level -= 1  # only a rescale mends a scale
        if level < 0:
            fail(LevelError, f"{a!r} and {b!r} have different scales, and no level is left to align them")
        return self.level_to(a, level), self.level_to(b, level)

    @batch
    def power(self, x: Ciphertext, exponent: int) -> Ciphertext:
        """x to a whole power of 1 or more, ceil(log2 exponent) products deep; the last product is left as `*` does."""
        depth = (max(whole("power: exponent", exponent), 1) - 1).bit_length()
        if depth > self._own("power", x).level + 1:
            fail(
                LevelError,
                f"power: exponent {exponent:.6g} takes {depth} products in a row, of which all but the last are "
                f"rescaled; the ciphertext is at level {x.level}",
            )
        return super().power(x, exponent)

    def _aligned_sum(self, who: str, x: Ciphertext, other: Operand) -> Ciphertext:
        if isinstance(other, Ciphertext) and (x.level != other.level or not is_close(x.scale, other.scale)):
            x, other = self.aligned(x, other)
        return self._sum(who, x, other)

    def _aligned_product(self, x: Ciphertext, other: Operand) -> Ciphertext:
        if isinstance(other, Ciphertext):
            if other is x:
                settled = self.settle(x)
                return self._product("square", settled, settled)
            return self._product("mul", *self.aligned(x, other))
        if is_real_number(other) and float(other).is_integer() and abs(float(other)) <= FREE_FACTOR:  # type: ignore[arg-type]
            return self.mul_int(x, int(float(other)))  # type: ignore[arg-type]
        return self.mul_plain(self.settle(x), other)

    # -- planned operations ------------------------------------------------------------------

    @batch
    def linear_transform(self, x: Ciphertext, transform: LinearTransform | npt.ArrayLike | Diagonals) -> Ciphertext:
        """A linear map of the slots; one level. A LinearTransform made once keeps its plan and encoded diagonals."""
        if not isinstance(transform, LinearTransform):
            transform = LinearTransform(transform, slots=self._own("linear_transform", x).slots)
        return self.run(transform, x)

    @batch
    def polynomial(self, x: Ciphertext, polynomial: Polynomial) -> Ciphertext:
        """A polynomial of every slot."""
        remedy = "give a ckks.Polynomial(coefficients), or ckks.chebyshev(f, interval, degree)"
        needs("polynomial: the polynomial", polynomial, Polynomial, remedy)
        return self.run(polynomial, x)

    @batch
    def bootstrap(self, x: Ciphertext, bootstrapper: Bootstrapper) -> Ciphertext:
        """The same slots at the bootstrapper's `target_level`."""
        needs("bootstrap: the bootstrapper", bootstrapper, Bootstrapper, "give a ckks.Bootstrapper(name)")
        return self.run(bootstrapper, x)

    @batch
    def inner_sum(self, x: Ciphertext, count: int | None = None, stride: int = 1) -> Ciphertext:
        """Slot i becomes the sum of slots i, i + stride, ..., `count` of them; all slots if no count is given."""
        terms = self._own("inner_sum", x).slots if count is None else whole("inner_sum: count", count)
        key = (terms, whole("inner_sum: stride", stride))
        if key not in self._sums:
            self._sums[key] = InnerSum(*key)
        return self.run(self._sums[key], x)

    @place_operands
    def run(self, operation: PlannedOperation, x: Ciphertext) -> Ciphertext:
        """Apply a planned operation: a LinearTransform, a Polynomial or a Bootstrapper."""
        needs(
            "run: the operation", operation, PlannedOperation, "give a ckks.LinearTransform, Polynomial or Bootstrapper"
        )
        check_slots(operation.name, self._own(operation.name, x).encoding)
        operation._check(x)
        place = Place(x.slots, x.level, x.scale)
        executors = self._executors.setdefault(operation, {})
        if place not in executors:
            executors[place] = self._executor(operation, operation._plan_for(self.parameters, place), x)
        if executors[place] is not None and self.keys is not None:
            self._keys(operation.name, x)
        (result,) = executors[place].run([x.core])
        assert isinstance(result, _core.Ciphertext)
        return self._out(result)

    def _executor(self, operation: PlannedOperation, plan: Compiled, x: Ciphertext) -> _core.Executor:
        if not plan.keys and self.keys is None:
            fail(
                MissingKeyError,
                f"{operation.name}: this evaluator has no keys: Evaluator(parameters, keys)",
            )
        keys = self._keys(operation.name, x)
        missing = [s for s in plan.keys if not keys.serves(s)]
        if missing:
            _fail_for_keys(operation, keys, missing, len(plan.keys), x.level)
        return _core.Executor(
            self.parameters.context, plan.code, keys.core, plan.constant, constant_budget_bytes=self._constant_bytes
        )


def _fail_for_keys(
    operation: PlannedOperation, keys: EvaluationKeys, missing: list[KeySpec], count: int, level: int
) -> NoReturn:
    """MissingKeyError with what the missing keys are for, and how to generate them."""
    names, rotations = keys._purposes(missing), keys._rotations(missing)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    how = f"required=operation.required_keys(parameters, level={level})), of the {type(operation).__name__}"
    if isinstance(operation, InnerSum) and rotations is not None:  # which nobody holds
        how = f"steps={rotations}, level={level})"
    fail(
        MissingKeyError,
        f"{operation.name}: {len(missing)} of {count} keys are missing or serve only levels below {level}: "
        f"{', '.join(names[:MOST_NAMED])}{more}; generate them with KeyGenerator.evaluation_keys({how}",
    )


Ciphertext._evaluators = Evaluator

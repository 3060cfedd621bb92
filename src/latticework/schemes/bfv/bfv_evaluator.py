"""Operations on ciphertexts: exact integer arithmetic modulo t, slot by slot."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from latticework.errors import LevelError, RangeError, ShapeError
from latticework.schemes.bfv.bfv_ciphertext import Ciphertext, Plaintext, require_batching
from latticework.schemes.bfv.bfv_keys import EvaluationKeys
from latticework.schemes.bfv.bfv_parameters import Parameters
from latticework.schemes.bfv.slot_integers import to_constant, to_residues
from latticework.schemes.rlwe import evaluator
from latticework.schemes.rlwe.checks import fail, needs, whole
from latticework.schemes.rlwe.ciphertext_lists import batch
from latticework.schemes.rlwe.device_placement import place_operands
from latticework.schemes.rlwe.encodings import Encoding, check_alike, check_slots, holds_coefficients, refuse_constant
from latticework.schemes.rlwe.parameters import check_parameters
from latticework.values.extension import _core

PlainOperand = Plaintext | npt.ArrayLike
Operand = Ciphertext | PlainOperand


class Evaluator(evaluator.Evaluator[Parameters, EvaluationKeys, Ciphertext]):
    """Computes on ciphertexts.

    keys   evaluation keys; without them all works that needs none
    align  False: operands must fit exactly, and errors say what to do. True: add, sub, mul and square align their
           operands as operators do
    """

    _kinds = (Parameters, EvaluationKeys)
    _operand = Ciphertext

    def __init__(self, parameters: Parameters, keys: EvaluationKeys | None = None, *, align: bool = False) -> None:
        super().__init__(parameters, keys, align=align)
        self._bfv = _core.BfvEvaluator(parameters.context)
        self._encoder = _core.BfvEncoder(parameters.context)

    def _anew(self, parameters: Parameters, keys: EvaluationKeys | None) -> Evaluator:
        return Evaluator(parameters, keys, align=self.align)

    # -- automatic alignment -----------------------------------------------------------------

    @batch
    def settle(self, x: Ciphertext) -> Ciphertext:
        """Relinearise what is pending: degree 1."""
        return self.relinearize(self._own("settle", x))

    @place_operands
    def aligned(self, a: Ciphertext, b: Ciphertext) -> tuple[Ciphertext, Ciphertext]:
        """Both settled, at one level: the higher is brought down to the lower."""
        a, b = self.settle(self._own("aligned", a)), self.settle(self._own("aligned", b))
        level = min(a.level, b.level)
        return self.mod_switch(a, level), self.mod_switch(b, level)

    def _aligned_sum(self, who: str, x: Ciphertext, other: Operand) -> Ciphertext:
        if isinstance(other, Ciphertext) and x.level != self._own(who, other).level:
            level = min(x.level, other.level)  # sums of products stay of degree 2
            x, other = self.mod_switch(x, level), self.mod_switch(other, level)
        return self._sum(who, x, other)

    def _aligned_product(self, x: Ciphertext, other: Operand) -> Ciphertext:
        if not isinstance(other, Ciphertext):
            return self.mul_plain(x, other)
        x, other = self.aligned(x, other)
        with_key = self.keys is not None and self.keys.has_relin_key
        return self.mul_relin(x, other) if with_key else self._product("mul", x, other)

    # -- sums and products -------------------------------------------------------------------

    def _sum(self, who: str, x: Ciphertext, b: Operand) -> Ciphertext:
        add = who == "add"
        if isinstance(b, Ciphertext):
            self._alike(who, x, self._own(who, b))
            return self._out(self._core.add(x.core, b.core) if add else self._core.sub(x.core, b.core))
        if is_constant(b):
            if x.encoding != "slots":
                refuse_constant(who)
            number = to_constant(who, int(b), self.parameters.plain_modulus)
            return self._out(
                self._bfv.add_constant(x.core, (number if add else -number) % self.parameters.plain_modulus)
            )
        plain = self._plain(who, b, x)._as_addend(x.level)
        return self._out(self._core.add_plain(x.core, plain) if add else self._core.sub_plain(x.core, plain))

    @batch
    def mul_relin(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        """a * b of two ciphertexts, relinearised in the division that ends the product: faster than one by one."""
        needs("mul_relin: the second operand", b, Ciphertext, "mul_plain takes public values, which stay at degree 1")
        return self._product("mul_relin", self._own("mul_relin", a), b, self._relin_keys(a).core)

    def _product(self, who: str, x: Ciphertext, y: Operand, relin: _core.EvaluationKeys | None = None) -> Ciphertext:
        if not isinstance(y, Ciphertext):
            return self.mul_plain(x, y)
        self._alike(who, x, self._own(who, y))
        self._factor(who, x)
        self._factor(who, y)
        return self._out(self._bfv.mul(x.core, y.core, relin))

    @batch
    def mul_plain(self, x: Ciphertext, values: PlainOperand) -> Ciphertext:
        """x * values, slot by slot: a Plaintext, an array, or an integer for every slot."""
        self._own("mul_plain", x)
        if is_constant(values):
            return self._times("mul_plain", x, values)
        return self._out(self._core.mul_plain(x.core, self._plain("mul_plain", values, x)._as_factor(x.level)))

    @batch
    def mul_int(self, x: Ciphertext, factor: int) -> Ciphertext:
        """x times a whole number between -t and t: the noise grows by the factor alone."""
        return self._times("mul_int", self._own("mul_int", x), whole("mul_int: factor", factor))

    def _times(self, who: str, x: Ciphertext, factor: int) -> Ciphertext:
        return self._out(self._core.mul_int(x.core, to_constant(who, int(factor), self.parameters.plain_modulus), 1.0))

    # -- degrees, levels, slots --------------------------------------------------------------

    @batch
    def relinearize(self, x: Ciphertext) -> Ciphertext:
        """Degree 2 to degree 1 with the relinearisation key; degree 1 is left as it is."""
        if self._own("relinearize", x).degree == 1:
            return x
        return self._out(self._core.relinearize(x.core, self._relin_keys(x).core))

    @batch
    def mod_switch(self, x: Ciphertext, level: int | None = None) -> Ciphertext:
        """The same slots under a smaller modulus, at a lower level, the next one if none is given: then all is cheaper.

        The noise shrinks with the modulus, down to that of a rounding; the budget by at most as many bits.
        """
        level = self._lower("mod_switch", self._own("mod_switch", x), level)
        return x if level == x.level else self._out(self._core.mod_down(x.core, (0, level), 1.0))

    @batch
    def swap_rows(self, x: Ciphertext) -> Ciphertext:
        """The two rows exchanged, as rows[::-1]."""
        return self._conjugate("swap_rows", x)

    @batch
    def inner_sum(self, x: Ciphertext, count: int | None = None, stride: int = 1) -> Ciphertext:
        """Slot i of a row becomes the sum of its slots i, i + stride, ..., `count` of them; the whole row if no count.

        About log2(count) rotations, by doubling.
        """
        self._factor("inner_sum", self._own("inner_sum", x))
        check_slots("inner_sum", x.encoding)
        terms = x._row_slots if count is None else whole("inner_sum: count", count)
        stride = whole("inner_sum: stride", stride)
        if terms < 1:
            fail(RangeError, f"inner_sum: count={terms}; give how many slots are added up, 1 or more")
        total, done, size, block = None, 0, 1, x
        while True:
            if terms & size:
                turned = self.rotate(block, done * stride)
                total = turned if total is None else self._out(self._core.add(total.core, turned.core))
                done += size
            size *= 2
            if size > terms:
                assert total is not None
                return total
            block = self._out(self._core.add(block.core, self.rotate(block, size // 2 * stride).core))

    # -- operands ----------------------------------------------------------------------------

    def _alike(self, who: str, a: Ciphertext, b: Ciphertext) -> None:
        self._same_keys(who, "the first operand", a.core.key_set, "the second", b.core.key_set)
        check_alike(who, a.encoding, b.encoding)
        if a.level != b.level:
            fail(
                LevelError,
                f"{who}: operands at level {a.level} and level {b.level}; bring the higher down with "
                f"mod_switch(x, {min(a.level, b.level)}), or use operators, which do",
            )

    def _plain(self, who: str, values: PlainOperand, x: Ciphertext) -> Plaintext:
        """A public operand, encoded as x is."""
        if isinstance(values, Plaintext):
            check_parameters(f"{who}: the plaintext", values.parameters, self.parameters)
            check_alike(who, x.encoding, values.encoding)
            return values
        return encode_values(who, values, self.parameters, self._encoder, x.encoding)


def encode_values(
    who: str, values: npt.ArrayLike, parameters: Parameters, encoder: _core.BfvEncoder, encoding: Encoding
) -> Plaintext:
    """Integers as slots, or a vector of them as coefficients."""
    coefficients = holds_coefficients(who, encoding)
    if not coefficients:
        require_batching(who, parameters)
    residues = to_residues(who, values, parameters.row_slots, parameters.plain_modulus)
    if coefficients and np.ndim(values) != 1:
        fail(
            ShapeError,
            f"{who}: shape {np.shape(values)}; coefficients are one vector of up to {parameters.ring_degree}",
        )
    core = encoder.encode_coefficients(residues) if coefficients else encoder.encode(residues)
    return Plaintext(core, parameters, encoder, encoding)


def is_constant(value: Any) -> TypeGuard[int]:
    """Whether an operand is one integer."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


Ciphertext._evaluators = Evaluator

"""Operations on ciphertexts: exact integer arithmetic modulo t, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from latticework import _core
from latticework.bfv.ciphertext import Ciphertext, Plaintext
from latticework.bfv.context import Context
from latticework.bfv.keys import EvaluationKeys, rotation_element
from latticework.bfv.values import to_constant, to_residues, whole
from latticework.errors import LevelError, MissingKeyError

Operand = Ciphertext | Plaintext | npt.ArrayLike


class Evaluator:
    """Computes on ciphertexts. Two ciphertexts of different levels are first brought to the lower one.

    keys  for products, rotations and swaps; without a relinearisation key products have degree 2
    """

    def __init__(self, context: Context, keys: EvaluationKeys | None = None) -> None:
        if keys is not None:
            context.check("Evaluator: the keys", keys.context)
        self.context = context
        self.keys = keys
        self.has_keys = keys is not None
        self._shared = _core.Evaluator(context.core)
        self._core = _core.BfvEvaluator(context.core)
        self._encoder = _core.BfvEncoder(context.core)

    # -- sums and products -------------------------------------------------------------------

    def add(self, a: Ciphertext, b: Operand) -> Ciphertext:
        """a + b; b may be a ciphertext, a Plaintext, an array or an integer."""
        if isinstance(b, Ciphertext):
            return self._both(self._shared.add, a, b, "add")
        if is_constant(b):
            addend = to_constant("add", int(b), self._modulus) % self._modulus
            return self._wrap(self._core.add_constant(self._own(a, "add"), addend))
        return self._wrap(self._shared.add_plain(self._own(a, "add"), self._plain(b, "add").addend(a.level)))

    def sub(self, a: Ciphertext, b: Operand) -> Ciphertext:
        """a - b; b may be a ciphertext, a Plaintext, an array or an integer."""
        if isinstance(b, Ciphertext):
            return self._both(self._shared.sub, a, b, "sub")
        if is_constant(b):
            return self.add(a, -to_constant("sub", int(b), self._modulus))
        return self._wrap(self._shared.sub_plain(self._own(a, "sub"), self._plain(b, "sub").addend(a.level)))

    def neg(self, x: Ciphertext) -> Ciphertext:
        """-x."""
        return self._wrap(self._shared.neg(self._own(x, "neg")))

    def mul(self, a: Ciphertext, b: Operand) -> Ciphertext:
        """a * b; b may be a ciphertext, a Plaintext, an array or an integer.

        A product of ciphertexts is relinearised if there is a key for it; a factor of degree 2 is relinearised first.
        """
        if isinstance(b, Ciphertext):
            a, b = self._linear(a), self._linear(b)
            relin = self.keys.core if self.keys is not None and self.keys.has_relin_key else None
            return self._both(lambda x, y: self._core.mul(x, y, relin), a, b, "mul")
        if is_constant(b):
            return self._wrap(self._shared.mul_int(self._own(a, "mul"), to_constant("mul", int(b), self._modulus), 1.0))
        return self._wrap(self._shared.mul_plain(self._own(a, "mul"), self._plain(b, "mul").factor(a.level)))

    def square(self, x: Ciphertext) -> Ciphertext:
        """x * x."""
        return self.mul(x, x)

    def mul_unrelinearized(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        """a * b of degree 2: sums of products need only one `relinearize`."""
        return self._both(self._core.mul, self._linear(a), self._linear(b), "mul_unrelinearized")

    def relinearize(self, x: Ciphertext) -> Ciphertext:
        """Degree 2 to degree 1; others as they are."""
        if x.degree < 2:
            return x
        return self._wrap(self._shared.relinearize(self._own(x, "relinearize"), self._keys("relinearize")))

    # -- slots moved -------------------------------------------------------------------------

    def rotate_rows(self, x: Ciphertext, steps: int) -> Ciphertext:
        """Both rows moved left by `steps`, as np.roll(rows, -steps, axis=1).

        Composed of rotations by powers of two where there is no key for the rotation itself.
        """
        for element in self._path(steps):
            x = self._wrap(self._shared.rotate(self._own(x, "rotate_rows"), element, self._keys("rotate_rows")))
        return x

    def rotate_rows_many(self, x: Ciphertext, steps: Iterable[int]) -> list[Ciphertext]:
        """Several rotations of one ciphertext, which is decomposed once. There must be a key for each."""
        keys = self._keys("rotate_rows_many")
        digits = self._shared.hoist(self._own(x, "rotate_rows_many"))
        found = []
        for step in steps:
            element = rotation_element(step, self.context.parameters.ring_degree)
            if element == 1:
                found.append(x)
                continue
            product = self._shared.key_product(digits, element, keys)
            found.append(self._wrap(self._shared.mod_down(product, (0, x.level), 1.0)))
        return found

    def swap_rows(self, x: Ciphertext) -> Ciphertext:
        """The two rows exchanged, as rows[::-1]."""
        element = 2 * self.context.parameters.ring_degree - 1
        return self._wrap(self._shared.rotate(self._own(x, "swap_rows"), element, self._keys("swap_rows")))

    # -- levels ------------------------------------------------------------------------------

    def mod_switch(self, x: Ciphertext, level: int | None = None) -> Ciphertext:
        """The same slots under a smaller modulus (by one prime if no level is given): cheaper from then on.

        The noise shrinks with the modulus, down to that of a rounding; the budget by at most as many bits.
        """
        level = x.level - 1 if level is None else whole("mod_switch: level", level)
        if not 0 <= level <= x.level:
            raise LevelError(f"mod_switch: the ciphertext is at level {x.level}; it cannot go to level {level}")
        return self._wrap(self._shared.mod_down(self._own(x, "mod_switch"), (0, level), 1.0))

    # -- operands ----------------------------------------------------------------------------

    @property
    def _modulus(self) -> int:
        return self.context.parameters.plain_modulus

    def _wrap(self, core: _core.Ciphertext) -> Ciphertext:
        return Ciphertext(self.context, core, self)

    def _own(self, x: Ciphertext, op: str) -> _core.Ciphertext:
        self.context.check(f"{op}: the ciphertext", x.context)
        return x.core

    def _linear(self, x: Ciphertext) -> Ciphertext:
        return self.relinearize(x) if self.keys is not None and self.keys.has_relin_key else x

    def _both(
        self,
        operation: Callable[[_core.Ciphertext, _core.Ciphertext], _core.Ciphertext],
        a: Ciphertext,
        b: Ciphertext,
        op: str,
    ) -> Ciphertext:
        if a.level != b.level:
            level = min(a.level, b.level)
            a, b = (self.mod_switch(x, level) if x.level > level else x for x in (a, b))
        return self._wrap(operation(self._own(a, op), self._own(b, op)))

    def _plain(self, values: Plaintext | npt.ArrayLike, op: str) -> Plaintext:
        if isinstance(values, Plaintext):
            self.context.check(f"{op}: the plaintext", values.context)
            return values
        residues = to_residues(op, values, self.context.parameters.row_slots, self._modulus)
        return Plaintext(self.context, self._encoder.encode(residues), self._encoder)

    def _keys(self, op: str) -> _core.EvaluationKeys:
        if self.keys is None:
            raise MissingKeyError(
                f"{op}: needs evaluation keys; make the evaluator with them: Evaluator(context, keys)"
            )
        return self.keys.core

    def _path(self, steps: int) -> list[int]:
        """Galois elements that rotate by `steps` together: one if there is its key, else powers of two."""
        n = self.context.parameters.ring_degree
        steps = whole("rotate_rows: steps", steps) % (n // 2)
        element = rotation_element(steps, n)
        held = self.keys.galois_elements if self.keys is not None else frozenset()
        if steps == 0:
            return []
        if element not in held:
            parts = [rotation_element(part, n) for part in signed_powers(steps, n // 2)]
            if all(part in held for part in parts):
                return parts
        return [element]  # whose key the core finds, or names as missing


def signed_powers(steps: int, row_slots: int) -> list[int]:
    """Powers of two with signs, no two of them adjacent, that add up to `steps` modulo the length of a row."""
    if steps > row_slots // 2:
        steps -= row_slots
    parts, power = [], 1
    while steps:
        if steps % 2:
            digit = 2 - steps % 4  # 1 or -1, so that the next bit becomes 0
            parts.append(digit * power)
            steps -= digit
        steps //= 2
        power *= 2
    return parts


def is_constant(value: Any) -> TypeGuard[int]:
    """Whether an operand is one integer."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)

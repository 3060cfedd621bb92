"""Operations on ciphertexts: exact integer arithmetic modulo t, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from latticework import _core
from latticework.bfv.checks import located, needs, whole, whole_list
from latticework.bfv.ciphertext import Ciphertext, Plaintext
from latticework.bfv.context import Context
from latticework.bfv.keys import EvaluationKeys, rotation_element
from latticework.bfv.values import to_constant, to_residues
from latticework.errors import LevelError, MissingKeyError, RangeError, ShapeError

Operand = Ciphertext | Plaintext | npt.ArrayLike


class Evaluator:
    """Computes on ciphertexts. Two ciphertexts of different levels are first brought to the lower one.

    keys  for products, rotations and swaps; without a relinearisation key products have degree 2
    """

    @located
    def __init__(self, context: Context, keys: EvaluationKeys | None = None) -> None:
        needs("Evaluator: the context", context, Context, "give bfv.Context(parameters)")
        if keys is not None:
            needs("Evaluator: the keys", keys, EvaluationKeys, "give keygen.evaluation_keys(...)")
            context.check("Evaluator: the keys", keys.context)
        self.context = context
        self.keys = keys
        self.has_keys = keys is not None
        self._shared = _core.Evaluator(context.core)
        self._core = _core.BfvEvaluator(context.core)
        self._encoder = _core.BfvEncoder(context.core)

    # -- sums and products -------------------------------------------------------------------

    @located
    def add(self, a: Ciphertext, b: Operand) -> Ciphertext:
        """a + b; b may be a ciphertext, a Plaintext, an array or an integer."""
        if isinstance(b, Ciphertext):
            return self._both(self._shared.add, a, b, "add")
        if is_constant(b):
            addend = to_constant("add", int(b), self._modulus) % self._modulus
            return self._wrap(self._core.add_constant(self._own(a, "add"), addend))
        return self._wrap(self._shared.add_plain(self._own(a, "add"), self._plain(b, "add").addend(a.level)))

    @located
    def sub(self, a: Ciphertext, b: Operand) -> Ciphertext:
        """a - b; b may be a ciphertext, a Plaintext, an array or an integer."""
        if isinstance(b, Ciphertext):
            return self._both(self._shared.sub, a, b, "sub")
        if is_constant(b):
            return self.add(a, -to_constant("sub", int(b), self._modulus))
        return self._wrap(self._shared.sub_plain(self._own(a, "sub"), self._plain(b, "sub").addend(a.level)))

    @located
    def neg(self, x: Ciphertext) -> Ciphertext:
        """-x."""
        return self._wrap(self._shared.neg(self._own(x, "neg")))

    @located
    def mul(self, a: Ciphertext, b: Operand) -> Ciphertext:
        """a * b; b may be a ciphertext, a Plaintext, an array or an integer.

        A product of ciphertexts is relinearised if there is a key for it; a factor of degree 2 is relinearised first.
        """
        if isinstance(b, Ciphertext):
            a, b = self._linear(a, "mul"), self._linear(b, "mul")
            relin = self.keys.core if self.keys is not None and self.keys.has_relin_key else None
            return self._both(lambda x, y: self._core.mul(x, y, relin), a, b, "mul")
        if is_constant(b):
            return self._wrap(self._shared.mul_int(self._own(a, "mul"), to_constant("mul", int(b), self._modulus), 1.0))
        return self._wrap(self._shared.mul_plain(self._own(a, "mul"), self._plain(b, "mul").factor(a.level)))

    @located
    def square(self, x: Ciphertext) -> Ciphertext:
        """x * x."""
        return self.mul(x, x)

    @located
    def power(self, x: Ciphertext, exponent: int) -> Ciphertext:
        """x to a whole power of 1 or more, ceil(log2 exponent) products deep."""
        exponent = whole("power: exponent", exponent)
        if exponent < 1:
            raise RangeError(f"power: exponent {exponent}; 1 and above are possible, x**0 is the number 1")
        if exponent == 1:
            return x
        half = 1 << ((exponent - 1).bit_length() - 1)
        return self.mul(self.power(x, half), self.power(x, exponent - half))

    @located
    def mul_unrelinearized(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        """a * b of degree 2: sums of products need only one `relinearize`."""
        return self._both(
            self._core.mul,
            self._linear(a, "mul_unrelinearized"),
            self._linear(b, "mul_unrelinearized"),
            "mul_unrelinearized",
        )

    @located
    def relinearize(self, x: Ciphertext) -> Ciphertext:
        """Degree 2 to degree 1; others as they are."""
        core = self._own(x, "relinearize")
        if x.degree < 2:
            return x
        keys = self._keys("relinearize")
        if not keys.has_relin_key:
            raise MissingKeyError(
                "relinearize: there is no relinearisation key; make the keys with evaluation_keys(relin=True)"
            )
        return self._wrap(self._shared.relinearize(core, keys.core))

    # -- slots moved -------------------------------------------------------------------------

    @located
    def rotate_rows(self, x: Ciphertext, steps: int) -> Ciphertext:
        """Both rows moved left by `steps`, as np.roll(rows, -steps, axis=1).

        Composed of rotations by powers of two where there is no key for the rotation itself.
        """
        self._turnable(x, "rotate_rows")
        steps = whole("rotate_rows: steps", steps)
        for element in self._path(steps):
            keys = self._galois("rotate_rows", element, steps)
            x = self._wrap(self._shared.rotate(self._own(x, "rotate_rows"), element, keys))
        return x

    @located
    def rotate_rows_many(self, x: Ciphertext, steps: Iterable[int]) -> list[Ciphertext]:
        """Several rotations of one ciphertext, which is decomposed once. There must be a key for each."""
        self._turnable(x, "rotate_rows_many")
        turns = whole_list("rotate_rows_many: steps", steps)
        self._keys("rotate_rows_many")
        digits = self._shared.hoist(self._own(x, "rotate_rows_many"))
        found = []
        for step in turns:
            element = rotation_element(step, self.context.parameters.ring_degree)
            if element == 1:
                found.append(x)
                continue
            keys = self._galois("rotate_rows_many", element, step)
            product = self._shared.key_product(digits, element, keys)
            found.append(self._wrap(self._shared.mod_down(product, (0, x.level), 1.0)))
        return found

    @located
    def swap_rows(self, x: Ciphertext) -> Ciphertext:
        """The two rows exchanged, as rows[::-1]."""
        element = 2 * self.context.parameters.ring_degree - 1
        self._turnable(x, "swap_rows")
        return self._wrap(self._shared.rotate(x.core, element, self._galois("swap_rows", element, None)))

    # -- levels ------------------------------------------------------------------------------

    @located
    def mod_switch(self, x: Ciphertext, level: int | None = None) -> Ciphertext:
        """The same slots under a smaller modulus (by one prime if no level is given): cheaper from then on.

        The noise shrinks with the modulus, down to that of a rounding; the budget by at most as many bits.
        """
        core = self._own(x, "mod_switch")
        if level is None and x.level == 0:
            raise LevelError("mod_switch: the ciphertext is at level 0, its last prime; it cannot go lower")
        level = x.level - 1 if level is None else whole("mod_switch: level", level)
        if not 0 <= level <= x.level:
            raise LevelError(
                f"mod_switch: the ciphertext is at level {x.level}; it cannot go to level {level}, only down"
            )
        return self._wrap(self._shared.mod_down(core, (0, level), 1.0))

    # -- operands ----------------------------------------------------------------------------

    @property
    def _modulus(self) -> int:
        return self.context.parameters.plain_modulus

    def _wrap(self, core: _core.Ciphertext) -> Ciphertext:
        return Ciphertext(self.context, core, self)

    def _own(self, x: Ciphertext, op: str) -> _core.Ciphertext:
        needs(f"{op}: the operand", x, Ciphertext, "encrypt it with bfv.Encryptor, or put it second")
        self.context.check(f"{op}: the ciphertext", x.context)
        return x.core

    def _turnable(self, x: Ciphertext, op: str) -> None:
        self._own(x, op)
        if x.degree != 1:
            raise ShapeError(f"{op}: the ciphertext has degree {x.degree}; relinearize it first")

    def _linear(self, x: Ciphertext, op: str) -> Ciphertext:
        self._own(x, op)
        if x.degree > 1 and (self.keys is None or not self.keys.has_relin_key):
            raise ShapeError(
                f"{op}: a factor has degree {x.degree}, and this evaluator has no key to relinearize it; make the "
                "evaluator with evaluation_keys(relin=True)"
            )
        return self.relinearize(x)

    def _both(
        self,
        operation: Callable[[_core.Ciphertext, _core.Ciphertext], _core.Ciphertext],
        a: Ciphertext,
        b: Ciphertext,
        op: str,
    ) -> Ciphertext:
        self._own(a, op)
        self._own(b, op)
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

    def _keys(self, op: str) -> EvaluationKeys:
        if self.keys is None:
            raise MissingKeyError(
                f"{op}: needs evaluation keys; make the evaluator with them: Evaluator(context, keys)"
            )
        return self.keys

    def _galois(self, op: str, element: int, steps: int | None) -> _core.EvaluationKeys:
        """The keys, if that of a Galois element is among them: of a rotation by `steps`, of the swap if None."""
        keys = self._keys(op)
        if element not in keys.galois_elements:
            what = "the swap of rows" if steps is None else f"rotation by {steps} steps"
            how = "(swap_rows=True)" if steps is None else f"(steps=[{steps}]); steps=None makes all powers of two"
            raise MissingKeyError(
                f"{op}: no key for {what} among {len(keys.galois_elements)}; make it with evaluation_keys{how}"
            )
        return keys.core

    def _path(self, steps: int) -> list[int]:
        """Galois elements that rotate by `steps` together: one if there is its key, else powers of two."""
        n = self.context.parameters.ring_degree
        steps %= n // 2
        element = rotation_element(steps, n)
        held = self.keys.galois_elements if self.keys is not None else frozenset()
        if steps == 0:
            return []
        if element not in held:
            parts = [rotation_element(part, n) for part in signed_powers(steps, n // 2)]
            if all(part in held for part in parts):
                return parts
        return [element]


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

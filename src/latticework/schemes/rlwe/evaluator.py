"""The base of both evaluators: whose operands and keys they take, sums and products, rotations, and what is settled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy.typing as npt

from latticework.errors import LevelError, MissingKeyError, ParameterMismatchError, RangeError, ShapeError
from latticework.errors.shown import count_noun, describe
from latticework.runtime.devices.device import Device
from latticework.schemes.rlwe.checks import fail, locate, needs, whole, whole_list
from latticework.schemes.rlwe.ciphertext import Ciphertext, Plaintext
from latticework.schemes.rlwe.ciphertext_lists import batch
from latticework.schemes.rlwe.device_placement import place_operands
from latticework.schemes.rlwe.encodings import check_slots
from latticework.schemes.rlwe.other_names import KnowsOtherNames
from latticework.schemes.rlwe.parameters import (
    ChainParameters,
    Params,
    check_parameters,
    need_parameters,
    need_special,
)
from latticework.schemes.rlwe.rlwe_keys import EvaluationKeys
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec, conjugation_element, signed_steps

Keys = TypeVar("Keys", bound=EvaluationKeys[Any])
Cipher = TypeVar("Cipher", bound=Ciphertext[Any])
Operand = Ciphertext[Any] | Plaintext[Any, Any] | npt.ArrayLike


class Evaluator(KnowsOtherNames, ABC, Generic[Params, Keys, Cipher]):
    """Operations on ciphertexts of either scheme. Lists of ciphertexts give lists of results."""

    _kinds: ClassVar[tuple[type[ChainParameters], type[Any]]]  # of parameters and keys
    _operand: ClassVar[type[Any]]

    @locate
    def __init__(self, parameters: Params, keys: Keys | None, *, align: bool) -> None:
        kind, key_kind = self._kinds
        who = type(self).__name__
        need_parameters(who, parameters, kind)
        if keys is not None:
            needs(f"{who}: the keys", keys, key_kind, "give what KeyGenerator.evaluation_keys(...) makes")
            check_parameters(f"{who}: the keys", keys.parameters, parameters)
        self.parameters = parameters
        self.keys = keys
        self._elsewhere: dict[Device | None, Self] = {}
        self._home = self  # of which it is the likeness on a device: what results have as theirs
        self.align = align
        self._core = _core.Evaluator(parameters.context)

    def _at(self, place: Device | None) -> Self:
        """The same evaluator on a device, with its keys there; made once for each place."""
        if place == self.parameters._place:
            return self
        there, found = self.parameters._at(place), self._elsewhere.get(place)
        if found is None or found.parameters is not there:
            found = self._anew(there, None if self.keys is None else self.keys._at(there))
            found._elsewhere, found._home = self._elsewhere, self._home
            self._elsewhere.setdefault(self.parameters._place, self)
            self._elsewhere[place] = found
        return found

    @abstractmethod
    def _anew(self, parameters: Params, keys: Keys | None) -> Self:
        """An evaluator with the same options."""

    @property
    def has_keys(self) -> bool:
        """Whether it can rotate and relinearise anything."""
        return self.keys is not None

    # -- operators, sums and products ---------------------------------------------------------------------------

    @place_operands
    def _operate(self, name: str, x: Any, *operands: Any) -> Any:
        """Apply an operator of a ciphertext: align operands first, settle products where others read them."""
        self._own(name, x)
        if name in ("add", "sub"):
            return self._aligned_sum(name, x, *operands)
        if name == "mul":
            return self._aligned_product(x, *operands)
        if name in ("neg", "power", "settle"):
            return getattr(self, name)(x, *operands)
        return getattr(self, name)(self.settle(x), *operands)

    @abstractmethod
    def _aligned_sum(self, who: str, x: Cipher, other: Any) -> Cipher:
        """A sum or difference of anything that can be aligned."""

    @abstractmethod
    def _aligned_product(self, x: Cipher, other: Any) -> Cipher:
        """A product of anything that can be aligned."""

    @abstractmethod
    def settle(self, x: Cipher) -> Cipher:
        """Do what is pending: a product becomes an operand."""

    @batch
    def add(self, a: Cipher, b: Operand) -> Cipher:
        """a + b; with `align=False` at one level, of CKKS at one scale; degrees may differ.

        b  a ciphertext, a Plaintext, an array or a number
        """
        return self._operate("add", a, b) if self.align else self._sum("add", self._own("add", a), b)

    @batch
    def sub(self, a: Cipher, b: Operand) -> Cipher:
        """a - b, as `add`."""
        return self._operate("sub", a, b) if self.align else self._sum("sub", self._own("sub", a), b)

    @batch
    def mul(self, a: Cipher, b: Operand) -> Cipher:
        """a * b, of degree 2 for two ciphertexts of degree 1 at one level; of CKKS scales multiply. Not rescaled.

        Sums of such products need one `relinearize`. b: as of `add`.
        """
        return self._operate("mul", a, b) if self.align else self._product("mul", self._own("mul", a), b)

    @batch
    def square(self, x: Cipher) -> Cipher:
        """x * x; of degree 2."""
        return self._operate("mul", x, x) if self.align else self._product("square", self._own("square", x), x)

    @abstractmethod
    def _sum(self, who: str, x: Cipher, other: Any) -> Cipher:
        """x + other, or x - other for "sub", of operands that fit exactly."""

    @abstractmethod
    def _product(self, who: str, x: Cipher, other: Any) -> Cipher:
        """x * other of operands that fit exactly, or x * x for "square"."""

    @batch
    def power(self, x: Cipher, exponent: int) -> Cipher:
        """x to a whole power of 1 or more, ceil(log2 exponent) products deep; the last product is left as `*` does."""
        exponent = whole("power: exponent", exponent)
        if exponent < 1:
            fail(RangeError, f"power: exponent {exponent}; 1 and above are possible, x**0 is the number 1")
        self._own("power", x)
        if exponent == 1:
            return x
        half = 1 << ((exponent - 1).bit_length() - 1)
        first = self.power(x, half)
        return self._aligned_product(first, first if exponent == 2 * half else self.power(x, exponent - half))

    @batch
    def neg(self, x: Cipher) -> Cipher:
        """-x."""
        return self._out(self._core.neg(self._own("neg", x).core))

    # -- slots moved -------------------------------------------------------------------------

    @batch
    def rotate(self, x: Cipher, steps: int) -> Cipher:
        """Slots moved left by `steps` (right if negative), round the end: np.roll(x, -steps, axis=-1).

        Where there is no key for it, but there are those of powers of two, it is composed of these.
        """
        steps = whole("rotate: steps", steps)
        self._factor("rotate", self._own("rotate", x))
        check_slots("rotate", x.encoding)
        if steps % x._row_slots == 0:
            return x
        keys, core = self._keys("rotate", x), x.core
        for element in self._path("rotate", keys, x, steps):
            core = self._core.rotate(core, element, keys.core)
        return self._out(core)

    @place_operands
    def rotate_many(self, x: Cipher, steps: Iterable[int]) -> list[Cipher]:
        """One rotation for each entry of `steps`, all from one decomposition of x ("hoisted"); a key for each."""
        self._factor("rotate_many", self._own("rotate_many", x))
        check_slots("rotate_many", x.encoding)
        turns = whole_list("rotate_many: steps", steps)
        turned = [k for k in turns if k % x._row_slots]
        if not turned:
            return [x] * len(turns)
        keys = self._keys("rotate_many", x)
        elements = [self._rotation("rotate_many", keys, x, k) for k in turned]
        found = iter(self._core.rotate_many(x.core, elements, keys.core))
        return [self._out(next(found)) if k % x._row_slots else x for k in turns]

    def _conjugate(self, who: str, x: Cipher) -> Cipher:
        """X -> X^-1: the conjugate of complex slots, the rows of integers exchanged."""
        self._factor(who, self._own(who, x))
        check_slots(who, x.encoding)
        keys = self._keys(who, x)
        minus_one = conjugation_element(self.parameters.ring_degree)
        element = keys._find_galois(who, minus_one, 4 * x._row_slots, x.level, None)
        return self._out(self._core.rotate(x.core, element, keys.core))

    def _rotation(self, who: str, keys: Keys, x: Cipher, steps: int) -> int:
        """The Galois element of a key that rotates x."""
        row = x._row_slots
        return keys._find_galois(who, pow(5, steps % row, 4 * row), 4 * row, x.level, signed_steps(steps, row))

    def _path(self, who: str, keys: Keys, x: Cipher, steps: int) -> list[int]:
        """Galois elements that rotate by `steps` one after the other: one if there is its key, else powers of two."""
        row = x._row_slots
        if keys._serving(pow(5, steps % row, 4 * row), 4 * row, x.level) is None:
            found = [keys._serving(pow(5, part % row, 4 * row), 4 * row, x.level) for part in signed_powers(steps, row)]
            parts = [element for element in found if element is not None]
            if len(parts) == len(found):
                return parts
        return [self._rotation(who, keys, x, steps)]

    # -- checks ------------------------------------------------------------------------------

    def _out(self, core: Any) -> Cipher:
        """A result; nothing is known of its noise where the keys came from residues."""
        if self.keys is not None and self.keys.is_unproved:
            core = core.mark_unproved()
        found: Cipher = self._operand(core, self.parameters, self._home)
        return found

    def _own(self, who: str, x: Any) -> Cipher:
        """An operand of this evaluator's parameters; an error if it is anything else."""
        if type(x) is not self._operand:
            remedy = "encrypt it, or put it second"
            if isinstance(x, Ciphertext):
                remedy = f"this evaluator takes {self._operand.__name__}s of {self.parameters.scheme}"
            needs(f"{who}: the operand", x, (), remedy)
        check_parameters(f"{who}: the ciphertext", x.parameters, self.parameters)
        found: Cipher = x
        return found

    def _keys(self, who: str, x: Cipher) -> Keys:
        if self.keys is None:
            need_special(who, self.parameters)
            fail(
                MissingKeyError,
                f"{who}: this evaluator has no keys: Evaluator(parameters, keys).{who}(...), or for methods and "
                "operators ciphertext.using(evaluator)",
            )
        self._same_keys(who, "the ciphertext", x.core.key_set, "the evaluator's keys", self.keys.key_set)
        return self.keys

    def _relin_keys(self, x: Cipher) -> Keys:
        """The keys, if one of them relinearises at x's level."""
        keys = self._keys("relinearize", x)
        if not keys.serves(KeySpec("relin", 0, 0, x.level)):
            reach = keys.reach("relin")
            have = "is missing" if reach is None else f"serves levels up to {reach}"
            fail(
                MissingKeyError,
                f"relinearize: the ciphertext is at level {x.level}, the relinearisation key {have}; "
                f"make it with KeyGenerator.relin_key(level={x.level})",
            )
        return keys

    def _same_keys(self, who: str, left: str, a: bytes, right: str, b: bytes) -> None:
        if any(a) and any(b) and a != b:
            fail(
                ParameterMismatchError,
                f"{who}: {left} is under key set {a[:8].hex()}, {right} under {b[:8].hex()}: they have different "
                "secret keys and cannot meet",
            )

    def _factor(self, who: str, x: Cipher) -> None:
        if x.degree != 1:
            need_special(f"{who} of degree {x.degree}, which has to be relinearised first", self.parameters)
            fail(
                ShapeError,
                f"{who}: the operand at level {x.level} has degree {x.degree}; relinearize it first",
            )

    def _lower(self, who: str, x: Cipher, level: int | None) -> int:
        """A level at or below that of x; the next one if none is given."""
        if level is None and x.level == 0:
            fail(LevelError, f"{who}: the ciphertext is at level 0, the last; it cannot go lower")
        level = x.level - 1 if level is None else self.parameters.check_level(who, level)
        if level > x.level:
            fail(
                LevelError,
                f"{who}: the ciphertext is at level {x.level}, below {level}; levels only go down",
            )
        return level

    def __repr__(self) -> str:
        keys = "no keys" if self.keys is None else count_noun(len(self.keys), "key")
        p = self.parameters
        return describe(type(self).__name__, *p._ring, keys, "align" if self.align else "")


def signed_powers(steps: int, row_slots: int) -> list[int]:
    """Powers of two with signs, no two of them adjacent, that add up to `steps` modulo the length of a row."""
    steps = signed_steps(steps, row_slots)
    parts, power = [], 1
    while steps:
        if steps % 2:
            digit = 2 - steps % 4  # 1 or -1, so that the next bit becomes 0
            parts.append(digit * power)
            steps -= digit
        steps //= 2
        power *= 2
    return parts

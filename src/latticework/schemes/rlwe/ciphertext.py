"""Ciphertexts of both schemes: immutable, with operators, methods of their evaluator, and files."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Generic, NoReturn, Protocol, Self, TypeVar

from latticework.errors import FormatError
from latticework.errors.shown import describe, size
from latticework.runtime.devices.device import Device, as_device
from latticework.schemes.rlwe.checks import file_bytes, file_path, locate, needs
from latticework.schemes.rlwe.encodings import Encoding, holds_coefficients
from latticework.schemes.rlwe.other_names import KnowsOtherNames
from latticework.schemes.rlwe.parameters import ChainParameters, Params, check_parameters, need_parameters
from latticework.schemes.rlwe.residues import Form, Residues, ValueLabel, check_key_set, check_residues, is_ntt
from latticework.values.extension import _core

Core = TypeVar("Core")


class Resident:
    """A value in the memory of the host or of a device, which may be asked to be elsewhere."""

    __slots__ = ("_place",)
    _place: Device | None  # where operations on it run

    @property
    def device(self) -> str:
        """The device that operations on it run on: "cpu", or a name."""
        return "cpu" if self._place is None else self._place.name

    def gpu(self, device: str | Device = "cuda") -> Self:
        """The same value for a device: what is computed with it runs there, and the results are there.

        Nothing is moved before it is needed, and then once.
        raises  UserError for what is no device, DeviceError for one that cannot be used
        """
        return self._mark(locate(as_device)(device))

    def cpu(self) -> Self:
        """The same value for the host: what is computed with it runs there."""
        return self._mark(None)

    def download(self) -> Self:
        """The same value on the host, now: waits for what it is computed by."""
        return self._at(None)

    def _mark(self, place: Device | None) -> Self:
        """A handle of the same value."""
        other = copy(self)
        other._place = place
        return other

    @property
    def _is_at(self) -> Device | None:
        """The device in whose memory it is; None for the host."""
        found: Device | None = self.parameters._place  # type: ignore[attr-defined]
        return found

    def _at(self, place: Device | None) -> Self:
        """The value in the memory of a place."""
        raise NotImplementedError


class Plaintext(Resident, Generic[Params, Core]):
    """A vector encoded; each scheme has its own."""

    __slots__ = ("core", "parameters")

    def __init__(self, core: Core, parameters: Params) -> None:
        self.core = core
        self.parameters = parameters
        self._place = parameters._place


class Operators(Protocol):
    """An evaluator, as the ciphertexts that belong to it use it."""

    parameters: Any

    @property
    def has_keys(self) -> bool:
        """Whether it can rotate and relinearise anything."""

    def _operate(self, name: str, *operands: Any) -> Any:
        """Apply an operator with automatic alignment."""


class Ciphertext(KnowsOtherNames, Resident, Generic[Params]):
    """An encrypted vector; immutable. Operators and methods use the evaluator that it came from."""

    __slots__ = ("core", "evaluator", "parameters")
    __array_ufunc__ = None  # NumPy leaves mixed operators to the ones here
    __hash__ = object.__hash__
    _parameters: ClassVar[type[ChainParameters]]
    _evaluators: ClassVar[type[Any]]  # set where evaluators are defined, which know ciphertexts

    def __init__(self, core: _core.Ciphertext, parameters: Params, evaluator: Operators) -> None:
        self.core = core
        self.parameters = parameters
        self.evaluator = evaluator
        self._place = parameters._place

    @property
    def level(self) -> int:
        """Its level in the modulus chain; 0 is the last."""
        return self.core.level[1]

    @property
    def degree(self) -> int:
        """1, or 2 for a product that is not relinearised; it has one part (polynomial) more."""
        return self.core.degree

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    @property
    def key_set(self) -> bytes:
        """16 bytes that name the secret key that it is encrypted for."""
        return bytes(self.core.key_set)

    @property
    def encoding(self) -> Encoding:
        """The numbers that it holds: "slots", or "coefficients" of a polynomial modulo X^N + 1."""
        return "coefficients" if self.core.encoding == "coefficients" else "slots"

    @property
    def is_unproved(self) -> bool:
        """Whether it, or what it was computed from, was made from residues: then its noise is not known.

        Nothing is promised of what it decrypts to. Files keep the mark.
        """
        return self.core.is_unproved

    @locate
    def residues(self, form: Form = "coefficients") -> Residues:
        """Canonical residues, uint64 of shape (parts, limbs, N): part i goes with the i-th power of the secret.

        Limb j is modulo `parameters.primes_at(level)[j]`.
        form  "coefficients", or "ntt": the order of its values is in docs/ckks.md#residues
        """
        return _core.ciphertext_residues(self.core, is_ntt("residues", form))

    @classmethod
    def _from_residues(
        cls, residues: Residues, parameters: Params, label: ValueLabel, evaluator: Operators | None, form: Form
    ) -> Self:
        """A ciphertext of residues, marked as unproved."""
        who = f"{cls._parameters.scheme}.Ciphertext.from_residues"
        holds_coefficients(who, label.encoding)
        level = parameters.check_level(who, parameters.levels if label.level is None else label.level)
        checked = check_residues(who, residues, (2, 3), parameters.primes_at(level), parameters.ring_degree)
        scale = parameters.chain.main.scales[level] if label.scale is None else label.scale
        core = _core.ciphertext_from_residues(
            parameters.context, checked, is_ntt(who, form), (0, level), scale, label.slots, label.encoding,
            check_key_set(who, label.key_set),
        )  # fmt: skip
        return cls(core, parameters, cls._owner(who, parameters, evaluator))

    def using(self, evaluator: Operators) -> Self:
        """The same ciphertext, whose operators use the keys of this evaluator."""
        other = self._mark(self._place)
        other.evaluator = evaluator
        return other

    @locate
    def _at(self, place: Device | None) -> Self:
        there = self.parameters._at(place)
        return type(self)(_core.move(self.core, there.context), there, self.evaluator)

    # -- operators, aligned automatically ----------------------------------------------------

    def _operate(self, name: str, *operands: Any) -> Self:
        chosen = self.evaluator
        for other in operands:
            if not chosen.has_keys and isinstance(other, Ciphertext):
                chosen = other.evaluator
        found: Self = chosen._operate(name, self, *operands)
        return found

    def __add__(self, other: Any) -> Self:
        return self._operate("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        return self._operate("sub", other)

    def __rsub__(self, other: Any) -> Self:
        return self._operate("neg")._operate("add", other)

    def __mul__(self, other: Any) -> Self:
        return self._operate("mul", other)

    __rmul__ = __mul__

    def __neg__(self) -> Self:
        return self._operate("neg")

    def __pos__(self) -> Self:
        return self

    def __pow__(self, exponent: int) -> Self:
        return self._operate("power", exponent)

    def settle(self) -> Self:
        """Do what is pending: a product becomes an operand."""
        return self._operate("settle")

    def rotate(self, steps: int) -> Self:
        """Slots moved left by `steps` (right if negative), round the end; a product is settled first."""
        return self._operate("rotate", steps)

    def rotate_many(self, steps: Sequence[int]) -> list[Self]:
        """Several rotations for one decomposition; a product is settled first."""
        found: list[Self] = self._operate("rotate_many", steps)  # type: ignore[assignment]
        return found

    def inner_sum(self, count: int | None = None, stride: int = 1) -> Self:
        """Slot i becomes the sum of slots i, i + stride, ..., `count` of them; a product is settled first."""
        return self._operate("inner_sum", count, stride)

    # -- the evaluator's methods, exact ------------------------------------------------------

    def mod_switch(self, level: int | None = None) -> Self:
        """The same slots under a smaller modulus: at a lower level, the next one if none is given."""
        return self._exactly("mod_switch", level)

    def _exactly(self, name: str, *operands: Any, **options: Any) -> Self:
        found: Self = getattr(self.evaluator, name)(self, *operands, **options)
        return found

    def __bool__(self) -> NoReturn:
        raise TypeError("a ciphertext has no truth value: what is encrypted cannot decide what a program does")

    # -- files -------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Its file as bytes; `from_bytes` and `ciphertexts_from_bytes` read it."""
        return bytes(_core.save_ciphertexts(None, [self.core], ["0"], {}))

    @locate
    def save(self, path: str | Path) -> None:
        """Write to a file; `load` and `load_ciphertexts` read it."""
        _core.save_ciphertexts(file_path("Ciphertext.save", path, "to_bytes() gives bytes"), [self.core], ["0"], {})

    @classmethod
    @locate
    def from_bytes(cls, data: bytes, parameters: Params, *, evaluator: Operators | None = None) -> Self:
        """Read the ciphertext in bytes of `to_bytes`; operators use the evaluator's keys, if one is given.

        raises  ParameterMismatchError for other parameters, FormatError for damaged bytes or several ciphertexts
        """
        who = f"{cls._parameters.scheme}.Ciphertext.from_bytes"
        return cls._read(who, file_bytes(who, data, "Ciphertext.load(path) reads a file"), parameters, evaluator)

    @classmethod
    @locate
    def load(cls, path: str | Path, parameters: Params, *, evaluator: Operators | None = None) -> Self:
        """Read a file of `save`; errors as of `from_bytes`."""
        who = f"{cls._parameters.scheme}.Ciphertext.load"
        return cls._read(who, file_path(who, path, "from_bytes(data) reads bytes"), parameters, evaluator)

    @classmethod
    def _read(cls, who: str, source: str | bytes, parameters: Params, evaluator: Operators | None) -> Self:
        need_parameters(who, parameters, cls._parameters)
        owner = cls._owner(who, parameters, evaluator)
        found, names, _ = _core.load_ciphertexts(source, parameters.context)
        if len(found) != 1:
            raise FormatError(f"{who}: {len(found)} ciphertexts ({', '.join(names)}); load_ciphertexts reads them all")
        return cls(found[0], parameters, owner)

    @classmethod
    def _owner(cls, who: str, parameters: Params, evaluator: Operators | None) -> Operators:
        """The evaluator given, if it is one of these parameters, or one without keys."""
        if evaluator is None:
            made: Operators = cls._evaluators(parameters)
            return made
        needs(f"{who}: the evaluator", evaluator, cls._evaluators, "give evaluator=Evaluator(parameters, keys)")
        check_parameters(f"{who}: the evaluator", evaluator.parameters, parameters)
        return evaluator

    @property
    def _row_slots(self) -> int:
        """The length at which rotations wrap."""
        raise NotImplementedError

    @property
    def _slots_text(self) -> str:
        """Its slots, as a repr names them."""
        raise NotImplementedError

    def _facts(self) -> list[str]:
        """Return the facts that a repr says between level and size."""
        raise NotImplementedError

    def __repr__(self) -> str:
        p, place = self.parameters, f"level {self.level} of {self.parameters.levels}"
        parts = f"{self.degree + 1} parts", size(self.num_bytes), "UNPROVED" if self.is_unproved else ""
        held = self._slots_text if self.encoding == "slots" else f"{p.ring_degree} coefficients"
        return describe(type(self).__name__, *p._ring, held, place, *self._facts(), *parts)

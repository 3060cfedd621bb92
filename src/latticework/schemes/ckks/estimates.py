"""An evaluator on bounds: what a computation will cost in precision, known before anything is encrypted.

An `Estimator` has the methods of an `Evaluator` and checks what they check, but its operands are an expert's statement
of how large the slots are (`fresh`), and its results say how far the slots of a real ciphertext lie from the exact
ones. Nothing is computed on ciphertexts, and no key is needed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import isfinite, log2
from typing import Any, NoReturn

import numpy as np

from latticework.compiler.codegen.bare_plan import plan_of_code
from latticework.errors import RangeError, ShapeError, UserError
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.error_bounds import Magnitude, carry
from latticework.plan.analysis.error_model import Bound, ErrorModel, fit
from latticework.schemes.ckks.ckks_checks import ComplexArray, check_scale
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext, Plaintext
from latticework.schemes.ckks.ckks_encryption import Encoder
from latticework.schemes.ckks.ckks_evaluator import Evaluator
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.ckks.ckks_polynomials import Polynomial
from latticework.schemes.ckks.exact import PlainOperand
from latticework.schemes.ckks.planned import Place, PlannedOperation
from latticework.schemes.ckks.polynomial_bounds import polynomial_bound
from latticework.schemes.rlwe.checks import fail, whole
from latticework.schemes.rlwe.encodings import check_slots
from latticework.schemes.rlwe.parameters import need_special
from latticework.values.packing.key_manifest import KeySpec, galois_action

Level = tuple[int, int]


class Estimate(Ciphertext):
    """A ciphertext of which only the shape is known and how far its slots may be off; operators as of a Ciphertext."""

    __slots__ = ()

    @property
    def bound(self) -> Bound:
        """Magnitude of the exact slots; the deviation to expect of a slot's error, and what it cannot exceed."""
        found: Bound = self.core.bound  # type: ignore[attr-defined]
        return found

    @property
    def num_bytes(self) -> int:
        """Bytes of such a ciphertext in memory."""
        chain = self.parameters.chain
        return 8 * chain.ring_degree * (self.degree + 1) * len(chain.main.basis(self.level))

    def save(self, path: Any) -> NoReturn:
        """Refused: there is nothing encrypted here."""
        fail(UserError, "save: an Estimate holds no ciphertext; save what an Encryptor made")

    def to_bytes(self) -> NoReturn:
        """Refused: there is nothing encrypted here."""
        fail(UserError, "to_bytes: an Estimate holds no ciphertext; give what an Encryptor made")

    @classmethod
    def _read(cls, who: str, source: Any, parameters: Any, evaluator: Any) -> NoReturn:
        fail(UserError, f"{who}: an Estimate is in no file; ckks.Ciphertext reads ciphertexts")

    def _facts(self) -> list[str]:
        average, worst = _power_text(self.bound.average), _power_text(self.bound.worst)
        return [*super()._facts(), f"error average {average} worst {worst}"]


def _power_text(size: float) -> str:
    """Return an error as a power of two."""
    if not isfinite(size):
        return "unbounded (values may wrap around the modulus)"
    return f"2^{log2(size):.1f}" if size else "0"


class Estimator(Evaluator):
    """Carries bounds along the operations of an Evaluator, with the rules for levels, scales and degrees of one.

    Exact are the real operations with public numbers as they were given, except that a linear transform or a
    polynomial is exact with its constants as they are encoded: what that moves them by is below the bounds. Errors are
    infinite where values may be too large for the modulus, around which they would wrap. Of a
    polynomial the slots are taken for real ones on its interval, or as far beyond it as their peak lies; its worst case
    leaves out noise that is rarer than 2^-128.

    complex_slots  slots may be any complex numbers: bounds of polynomials then add up their terms, which of long
                   series is far more than what real slots give
    """

    _operand = Estimate

    def __init__(self, parameters: Parameters, *, align: bool = False, complex_slots: bool = False) -> None:
        super().__init__(parameters, align=align)
        self._complex_slots = complex_slots
        self._model = ErrorModel(parameters.chain)
        self._core = _BoundSteps(self._model)  # type: ignore[assignment]
        self._encoder = _BoundEncoder(self._model)  # type: ignore[assignment]
        self._keys_of_all = _EveryKey()

    def fresh(
        self,
        peak: float,
        rms: float | None = None,
        *,
        ciphertext: Ciphertext | None = None,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
        public_key: bool = True,
    ) -> Estimate:
        """The estimate of a fresh encryption: its own source of noise, independent of every other.

        peak        bound on the magnitude of the slots
        rms         root mean square of their magnitudes; that of uniform real slots if not given, peak / sqrt(3)
        ciphertext  the fresh ciphertext, for its level, scale and slots; or else give these, as to `encrypt`
        public_key  False: encrypted under the secret key
        """
        rms = float(peak) / 3**0.5 if rms is None else float(rms)
        if not (isfinite(peak) and 0 <= rms <= peak * (1 + 2.0**-40)):
            fail(RangeError, f"fresh: peak={peak}, rms={rms:g}; magnitudes with 0 <= rms <= peak are needed")
        kind = self._shape("fresh", ciphertext, level, scale, slots)
        bound = self._model.fresh(float(peak), rms, kind.slots, kind.scale, public_key=public_key)
        return self._out(replace(kind, bound=bound))

    def stated(
        self,
        bound: Bound,
        *,
        ciphertext: Ciphertext | None = None,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
    ) -> Estimate:
        """The estimate of a ciphertext whose bound is known otherwise."""
        return self._out(replace(self._shape("stated", ciphertext, level, scale, slots), bound=bound))

    def run(self, operation: PlannedOperation, x: Ciphertext) -> Estimate:
        """Follow the plan of an operation; a bootstrap is one step, whose worst case leaves out what is rarer than
        2^-128. Parameters of one's own are measured for the first of them, for some seconds."""
        operation._check(self._own(operation.name, x))
        place = Place(x.slots, x.level, x.scale)
        before: Bound = x.core.bound  # type: ignore[attr-defined]
        step = operation._step(self.parameters.chain, place)
        if step is not None:
            after = self._model.bootstrap(before, step.bootstrap)
            return self._out(_Shape(x.slots, (0, step.level), step.scale, 1, after))
        plan = operation._plan_for(self.parameters, place)
        bound, kind = carry(plan.steps, plan.sources, self._model, before)
        if isinstance(operation, Polynomial) and not self._complex_slots and isfinite(before.worst):
            chain = self.parameters.chain
            with suppress(RangeError):  # beyond the modulus, what is carried along says how large values are
                alone = plan_of_code(operation.name, plan.steps, plan.sources, chain)
                found = polynomial_bound(alone, operation.series, before, x.slots)
                bound = replace(found, worst=min(found.worst, bound.worst), peak=min(found.peak, bound.peak))
        return self._out(_Shape(kind.slots, (kind.track, kind.level), kind.scale, kind.degree, bound))

    # -- what differs from an evaluator ------------------------------------------------------

    @property
    def has_keys(self) -> bool:
        """Estimates need none."""
        return True

    def _shape(
        self, who: str, given: Ciphertext | None, level: int | None, scale: float | None, slots: int | None
    ) -> _Shape:
        if given is not None:
            if (level, scale, slots) != (None, None, None):
                fail(UserError, f"{who}: give ciphertext, or level, scale and slots, not both")
            check_slots(who, given.encoding)
            if given.is_unproved and who == "fresh":
                fail(UserError, "fresh: the ciphertext was made from residues: state its noise, as stated(bound, ...)")
            return _Shape(given.slots, (0, given.level), given.scale, given.degree, Bound(0.0, 0.0))
        level = self.parameters.check_level(who, self.parameters.levels if level is None else level)
        scale = check_scale(who, self.parameters.scales[level] if scale is None else scale)
        width = self.parameters.slots if slots is None else whole(f"{who}: slots", slots)
        if not 1 <= width <= self.parameters.slots or width & (width - 1):
            fail(ShapeError, f"{who}: slots={slots}; give a power of two up to {self.parameters.slots}")
        return _Shape(width, (0, level), scale, 1, Bound(0.0, 0.0))

    def _out(self, core: Any) -> Estimate:
        track, level = core.level
        bound = fit(core.bound, self.parameters.chain.modulus(level, track), core.scale)
        return Estimate(replace(core, bound=bound), self.parameters, self)

    def _keys(self, who: str, x: Ciphertext) -> Any:
        need_special(who, self.parameters)
        return self._keys_of_all

    def _mul_number(self, x: Ciphertext, number: float, scale: float) -> Ciphertext:
        off = abs(round(number * scale) / scale - number) + 2.0**-52 * abs(number)
        bound = self._model.mul(x.core.bound, Bound(abs(number), abs(number), off, off))  # type: ignore[attr-defined]
        return self._out(replace(x.core, scale=x.scale * scale, bound=bound))  # type: ignore[type-var]

    def _plain(self, who: str, values: PlainOperand, x: Ciphertext, scale: float) -> Plaintext:
        if not isinstance(values, Plaintext):
            return super()._plain(who, values, x, scale)
        checked = super()._plain(who, values, x, scale)
        slots = Encoder(self.parameters).decode(checked)
        return Plaintext(self._encoder.encode(slots, (0, checked.level), checked.scale), self.parameters)


@dataclass(frozen=True)
class _Shape:
    """The shape and bound that stand for a ciphertext of the core."""

    slots: int
    level: Level
    scale: float
    degree: int
    bound: Bound
    key_set: bytes = b""
    is_unproved: bool = False
    encoding: str = "slots"


class _EveryKey:
    """A stand-in for evaluation keys that has every key."""

    core = None

    def serves(self, _spec: KeySpec) -> bool:
        return True

    def _serving(self, element: int, modulus: int, _level: int) -> int:
        return element % modulus

    def _find_galois(self, _who: str, element: int, modulus: int, _level: int, _steps: int | None) -> int:
        return element % modulus


class _BoundEncoder:
    """A stand-in for the core's encoder, on bounds."""

    def __init__(self, model: ErrorModel) -> None:
        self.model = model

    def encode(self, values: ComplexArray, level: Level, scale: float) -> _Shape:
        known = Magnitude.of(np.asarray(values))
        return _Shape(values.size, level, scale, 1, self.model.encode(known.peak, known.rms, values.size, scale))


class _BoundSteps:
    """A stand-in for the core's evaluator: the same steps on bounds."""

    def __init__(self, model: ErrorModel) -> None:
        self.model = model

    def add(self, a: _Shape, b: _Shape) -> _Shape:
        return replace(a, degree=max(a.degree, b.degree), bound=self.model.add(a.bound, b.bound))

    sub = add_plain = sub_plain = add

    def neg(self, x: _Shape) -> _Shape:
        return x

    def trivial(self, plain: _Shape) -> _Shape:
        return plain

    def add_int(self, x: _Shape, addend: int) -> _Shape:
        number = abs(addend) / x.scale
        off = 0.5 / x.scale + 2.0**-52 * number
        return replace(x, bound=self.model.add(x.bound, Bound(number, number, off, off)))

    def mul(self, a: _Shape, b: _Shape) -> _Shape:
        return replace(a, scale=a.scale * b.scale, degree=a.degree + b.degree, bound=self.model.mul(a.bound, b.bound))

    def square(self, x: _Shape) -> _Shape:
        return self.mul(x, x)

    def mul_plain(self, x: _Shape, plain: _Shape) -> _Shape:
        return replace(x, scale=x.scale * plain.scale, bound=self.model.mul(x.bound, plain.bound))

    def mul_int(self, x: _Shape, factor: int, scale: float | None = None) -> _Shape:
        """Times a whole number; with a scale, times 1 at another scale."""
        if scale is None:
            return replace(x, bound=x.bound.times(factor))
        return replace(x, scale=scale, bound=self.model.relabel(x.bound, factor * x.scale, scale))

    def mul_monomial(self, x: _Shape, _exponent: int) -> _Shape:
        return x

    def relabel(self, x: _Shape, level: Level, scale: float, slots: int) -> _Shape:
        return replace(x, level=level, slots=slots, bound=self.model.relabel(x.bound, x.scale, scale), scale=scale)

    def drop_level(self, x: _Shape, level: Level) -> _Shape:
        return replace(x, level=level)

    def mod_down(self, x: _Shape, level: Level, scale: float) -> _Shape:
        return replace(x, level=level, scale=scale, bound=self.model.mod_down(x.bound, x.slots, scale, x.degree))

    def relinearize(self, x: _Shape, _keys: None, level: Level | None = None) -> _Shape:
        if level is None:
            return replace(x, degree=1, bound=self.key_switch(x))
        (track, top), chain = x.level, self.model.chain
        scale = x.scale / (chain.modulus(top, track) // chain.modulus(level[1], track))
        product = self.model.key_product(x.bound, x.slots, x.scale, top, track)
        return replace(x, degree=1, level=level, scale=scale, bound=self.model.mod_down(product, x.slots, scale))

    def rotate(self, x: _Shape, element: int, _keys: None) -> _Shape:
        steps, conjugated = galois_action(element, x.slots)
        return replace(x, bound=self.key_switch(x).turned(steps, x.slots, conjugated=conjugated))

    def rotate_many(self, x: _Shape, elements: list[int], keys: None) -> list[_Shape]:
        return [self.rotate(x, element, keys) for element in elements]

    def key_switch(self, x: _Shape) -> Bound:
        return self.model.key_switch(x.bound, x.slots, x.scale, x.level[1], x.level[0])

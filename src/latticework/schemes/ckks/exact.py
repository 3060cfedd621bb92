"""The operations themselves: each does one thing, checks its operands first, and says what to do about them."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import numpy.typing as npt

from latticework.errors import LevelError, RangeError, ScaleError, ShapeError
from latticework.plan.instructions.products import MAX_DEGREE
from latticework.schemes.ckks.ckks_checks import (
    MAX_COEFFICIENT,
    ComplexArray,
    check_coefficients,
    check_encodable,
    check_modulus,
    check_not_lost,
    check_scale,
    coefficient_values,
    is_close,
    is_real_number,
    scale_text,
    slot_values,
    two_scales,
)
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext, Plaintext
from latticework.schemes.ckks.ckks_keys import EvaluationKeys
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.rlwe import evaluator
from latticework.schemes.rlwe.checks import fail, needs, whole
from latticework.schemes.rlwe.ciphertext_lists import batch
from latticework.schemes.rlwe.device_placement import place_operands
from latticework.schemes.rlwe.encodings import check_alike, check_slots, refuse_constant
from latticework.schemes.rlwe.parameters import check_parameters
from latticework.values.extension import _core

PlainOperand = Plaintext | npt.ArrayLike
Operand = Ciphertext | PlainOperand
MIN_SCALE = 2.0**8  # of the result of a rescale: below, hardly anything is left of the values
MIN_FACTOR_SCALE = 2.0**16  # of public factors where no scale is asked for: below, products would be coarse
ENCODED_BITS = 60  # of the coefficients of values that are added at scales beyond the encoder


def encode_coefficients(
    who: str, values: npt.ArrayLike, parameters: Parameters, encoder: _core.Encoder, place: tuple[int, float]
) -> Plaintext:
    """Real numbers as the coefficients of a polynomial, at a level and scale."""
    level, scale = place
    vector = coefficient_values(who, values, parameters.ring_degree)
    check_coefficients(who, vector, scale, parameters.chain.modulus(level) // 2, level)
    return Plaintext(
        encoder.encode_coefficients(np.rint(vector * scale).astype(np.int64), (0, level), scale), parameters
    )


class ExactOperations(evaluator.Evaluator[Parameters, EvaluationKeys, Ciphertext]):
    """Operations that leave levels, scales and degrees to the caller. Lists of ciphertexts give lists of results."""

    _kinds = (Parameters, EvaluationKeys)
    _operand = Ciphertext

    def __init__(self, parameters: Parameters, keys: EvaluationKeys | None, *, align: bool) -> None:
        super().__init__(parameters, keys, align=align)
        self._encoder = _core.Encoder(parameters.context)

    # -- sums --------------------------------------------------------------------------------

    def _sum(self, who: str, x: Ciphertext, b: Operand) -> Ciphertext:
        if isinstance(b, Ciphertext):
            self._alike(who, x, self._own(who, b))
            if not is_close(x.scale, b.scale):
                fail(
                    ScaleError,
                    f"{who}: scales differ ({two_scales(x.scale, b.scale)}, both at level {x.level}); "
                    "rescale the larger, or bring both to a lower level with level_to",
                )
            return self._out(self._core.add(x.core, b.core) if who == "add" else self._core.sub(x.core, b.core))
        if isinstance(b, Plaintext):
            plain = self._plain(who, b, x, x.scale)
            if not is_close(b.scale, x.scale):
                fail(
                    ScaleError,
                    f"{who}: the plaintext has another scale than the ciphertext ({two_scales(b.scale, x.scale)}); "
                    "encode it with level=ciphertext.level and scale=ciphertext.scale, or give the values themselves",
                )
            return self._out((self._core.add_plain if who == "add" else self._core.sub_plain)(x.core, plain.core))
        if x.encoding == "coefficients":
            if np.ndim(b) == 0:
                refuse_constant(who)
            plain = self._plain(who, b, x, x.scale)
            return self._out((self._core.add_plain if who == "add" else self._core.sub_plain)(x.core, plain.core))
        values = slot_values(who, b, self.parameters.slots)
        check_modulus(who, values, x.scale, self.parameters.chain.modulus(x.level), x.level)
        return self._add_values(who, x, values if who == "add" else -values)

    def _add_values(self, who: str, x: Ciphertext, values: ComplexArray) -> Ciphertext:
        """x + values. What the encoder cannot hold at x's scale is encoded at a smaller one, times a power of two."""
        largest = float(np.max(np.abs(values))) * x.scale
        if values.size == 1 and values[0].imag == 0 and largest < MAX_COEFFICIENT:
            return self._out(self._core.add_int(x.core, round(values[0].real * x.scale)))
        shift = max(0, ceil(log2(max(largest, 1.0))) - ENCODED_BITS)
        if shift >= ENCODED_BITS:
            fail(
                RangeError, f"{who}: values up to {largest / x.scale:.3g} at scale {scale_text(x.scale)}; rescale first"
            )
        plain = self._plain(who, values, x, x.scale / 2.0**shift)
        if shift == 0:
            return self._out(self._core.add_plain(x.core, plain.core))
        wide = self._core.mul_int(self._core.trivial(plain.core), 1 << shift, x.scale)
        return self._out(self._core.add(x.core, wide))

    # -- products ----------------------------------------------------------------------------

    def _product(self, who: str, x: Ciphertext, b: Operand) -> Ciphertext:
        if not isinstance(b, Ciphertext):
            return self.mul_plain(x, b)
        self._alike(who, x, self._own(who, b))
        if self.parameters.special:
            self._factor(who, x)
            self._factor(who, b)
        elif x.degree + b.degree > MAX_DEGREE:  # without keys products stay at their degree
            fail(ShapeError, f"{who}: degrees {x.degree} and {b.degree} add up to more than {MAX_DEGREE}")
        self._room(who, x, x.scale * b.scale)
        return self._out(self._core.square(x.core) if who == "square" else self._core.mul(x.core, b.core))

    @batch
    def mul_relin(self, a: Ciphertext, b: Ciphertext, *, rescale: bool = False) -> Ciphertext:
        """a * b of two ciphertexts, relinearised; rescaled in the same division if that is asked for."""
        needs("mul_relin: the second operand", b, Ciphertext, "mul_plain takes public values, which stay at degree 1")
        return self.relinearize(self.mul(a, b), rescale=rescale)

    @batch
    def mul_plain(self, x: Ciphertext, values: PlainOperand, scale: float | None = None) -> Ciphertext:
        """x * values, slot by slot; a number is the same for every slot. Scales multiply. Not rescaled.

        scale  at which values are encoded; if not given, that with which a rescale ends on the canonical scale
        """
        self._own("mul_plain", x)
        if isinstance(values, Plaintext):
            if scale is not None:
                fail(ScaleError, "mul_plain: a Plaintext has its scale already; give the values, or leave scale out")
            scale = values.scale
        is_asked = scale is not None
        scale = check_scale("mul_plain", self._factor_scale(x) if scale is None else scale)
        self._room("mul_plain", x, x.scale * scale)
        least = 0.0 if is_asked else MIN_SCALE
        if is_real_number(values):
            check_not_lost("mul_plain", np.array([float(values)], np.complex128), scale, least)  # type: ignore[arg-type]
            return self._mul_number(x, float(values), scale)  # type: ignore[arg-type]
        if x.encoding == "slots" and not isinstance(values, Plaintext):
            check_not_lost("mul_plain", slot_values("mul_plain", values, self.parameters.slots), scale, least)
        plain = self._plain("mul_plain", values, x, scale)
        return self._out(self._core.mul_plain(x.core, plain.core))

    def _mul_number(self, x: Ciphertext, number: float, scale: float) -> Ciphertext:
        """x times round(number * scale), in two factors where that is more than the core's integers hold."""
        if not abs(number) * scale < 2.0 ** (2 * ENCODED_BITS):
            fail(RangeError, f"mul_plain: {number} at scale {scale_text(scale)} is too large, or not finite")
        shift = max(0, ceil(log2(max(abs(number) * scale, 1.0))) - ENCODED_BITS)
        core = self._core.mul_int(x.core, round(number * scale / 2.0**shift), x.scale * scale)
        return self._out(core if shift == 0 else self._core.mul_int(core, 1 << shift))

    def plain_scale(self, x: Ciphertext) -> float:
        """The scale of a public factor with which a rescale of the product ends on the canonical scale."""
        if self._own("plain_scale", x).level == 0:
            return self.parameters.scales[0]
        wanted = self.parameters.scales[x.level - 1] * self.parameters.dropped(x.level) / x.scale
        return max(wanted, 1.0)

    def _factor_scale(self, x: Ciphertext) -> float:
        scale = self.plain_scale(x)
        if scale < MIN_FACTOR_SCALE:
            fail(
                ScaleError,
                f"mul_plain: from scale {scale_text(x.scale)} at level {x.level} a scale of {scale_text(scale)} would "
                "be left for the factor; rescale the ciphertext first, or give a scale (whole numbers: mul_int)",
            )
        return scale

    @batch
    def mul_int(self, x: Ciphertext, factor: int) -> Ciphertext:
        """x times a whole number below 2^62: exact, no level, no change of scale."""
        factor = whole("mul_int: factor", factor)
        if abs(factor) >= MAX_COEFFICIENT:
            fail(RangeError, f"mul_int: the factor {factor} is 2^62 or more; use mul_plain and a level")
        return self._out(self._core.mul_int(self._own("mul_int", x).core, factor))

    @batch
    def mul_i(self, x: Ciphertext) -> Ciphertext:
        """x times the imaginary unit: exact, no level, no change of scale."""
        check_slots("mul_i", self._own("mul_i", x).encoding)
        return self._out(self._core.mul_monomial(x.core, self.parameters.ring_degree // 2))

    # -- levels and scales -------------------------------------------------------------------

    @batch
    def relinearize(self, x: Ciphertext, *, rescale: bool = False) -> Ciphertext:
        """Degree 2 to degree 1 with the relinearisation key; degree 1 is left as it is.

        rescale  rescale too, in the division that ends the key switch: faster than `rescale` after it, less noise
        """
        self._own("relinearize", x)
        if x.degree == 1:
            return self.rescale(x) if rescale else x
        if rescale and x.level == 0:
            fail(LevelError, "relinearize: the ciphertext is at level 0, from which nothing can be rescaled")
        keys = self._relin_keys(x)
        if not rescale:
            return self._out(self._core.relinearize(x.core, keys.core))
        scale = self._divided_scale("relinearize", x, x.level - 1)
        low = self._core.relinearize(x.core, keys.core, (0, x.level - 1))
        return self._out(self._core.relabel(low, low.level, scale, low.slots))

    @batch
    def rescale(self, x: Ciphertext) -> Ciphertext:
        """One level down; the scale is divided by the level's one or two primes."""
        self._own("rescale", x)
        if x.level == 0:
            fail(LevelError, "rescale: the ciphertext is at level 0, the last; use parameters with more levels")
        return self._mod_down("rescale", x, x.level - 1)

    @batch
    def mod_down(self, x: Ciphertext, level: int) -> Ciphertext:
        """Down to a level at once; the scale is divided by all primes in between."""
        level = self._lower("mod_down", self._own("mod_down", x), level)
        return x if level == x.level else self._mod_down("mod_down", x, level)

    @batch
    def mod_switch(self, x: Ciphertext, level: int | None = None) -> Ciphertext:
        """Down to a level (the next one if none is given) by leaving primes out: same slots, same scale, less work."""
        level = self._lower("mod_switch", self._own("mod_switch", x), level)
        return x if level == x.level else self._out(self._core.drop_level(x.core, (0, level)))

    @batch
    def level_to(self, x: Ciphertext, level: int) -> Ciphertext:
        """Down to a level and exactly onto its canonical scale, by an integer factor and one rescale.

        raises  ScaleError where the scale is off and no level is left to mend it
        """
        level = self._lower("level_to", self._own("level_to", x), level)
        wanted = self.parameters.scales[level]
        if is_close(x.scale, wanted):
            return self.mod_switch(x, level)
        if x.level == level:
            fail(
                ScaleError,
                f"level_to: the ciphertext is at level {level} already, at another scale than that level's "
                f"({two_scales(x.scale, wanted)}), and only a rescale mends one: use level_to instead of mod_switch, "
                "on the ciphertext of the higher level, or choose a lower level",
            )
        product = wanted * self.parameters.dropped(level + 1)
        factor = product / x.scale
        if not is_close(factor, round(factor)) and factor < wanted / 16:  # too coarse an integer: rescale first
            return self.level_to(self._mod_down("level_to", x, x.level - 1), level)
        if factor >= MAX_COEFFICIENT:
            fail(ScaleError, f"level_to: the scale {scale_text(x.scale)} is too small to reach {scale_text(wanted)}")
        low = self.mod_switch(x, level + 1)
        scaled = self._core.mul_int(low.core, round(factor), product)
        return self._out(self._core.mod_down(scaled, (0, level), wanted))

    @place_operands
    def with_slots(self, x: Ciphertext, slots: int) -> Ciphertext:
        """The same ciphertext read as a longer vector, in which it repeats."""
        slots = whole("with_slots: slots", slots)
        check_slots("with_slots", self._own("with_slots", x).encoding)
        if slots < x.slots or slots > self.parameters.slots or slots & (slots - 1):
            fail(
                ShapeError,
                f"with_slots: {x.slots} slots can be read as a power of two from {x.slots} to {self.parameters.slots}, "
                f"not as {slots}",
            )
        return self._out(self._core.relabel(x.core, x.core.level, x.scale, slots))

    @batch
    def conjugate(self, x: Ciphertext) -> Ciphertext:
        """The complex conjugate of every slot."""
        return self._conjugate("conjugate", x)

    # -- checks ------------------------------------------------------------------------------

    def _alike(self, who: str, a: Ciphertext, b: Ciphertext) -> None:
        self._same_keys(who, "the first operand", a.core.key_set, "the second", b.core.key_set)
        check_alike(who, a.encoding, b.encoding)
        if a.slots != b.slots:
            fail(
                ShapeError,
                f"{who}: operands of {a.slots} and {b.slots} slots; with_slots(x, {max(a.slots, b.slots)}) repeats the "
                "shorter",
            )
        if a.level != b.level:
            low = min(a.level, b.level)
            fail(
                LevelError,
                f"{who}: operands at level {a.level} (scale {scale_text(a.scale)}) and level {b.level} (scale "
                f"{scale_text(b.scale)}); bring the higher down with level_to(x, {low}), or mod_switch(x, {low}) to "
                "keep its scale",
            )

    def _room(self, who: str, x: Ciphertext, scale: float) -> None:
        bits = log2(self.parameters.chain.modulus(x.level))
        if log2(scale) >= bits - 1:
            fail(
                ScaleError,
                f"{who}: the result would have scale {scale_text(scale)}, the modulus at level {x.level} only "
                f"{bits:.1f} bits: nothing would fit; "
                + ("no level is left for it: start with more levels" if x.level == 0 else "rescale first"),
            )

    def _mod_down(self, who: str, x: Ciphertext, level: int) -> Ciphertext:
        return self._out(self._core.mod_down(x.core, (0, level), self._divided_scale(who, x, level)))

    def _divided_scale(self, who: str, x: Ciphertext, level: int) -> float:
        """The scale of x after a division by the primes above a level: the canonical one where it is that."""
        scale = x.scale
        for lost in range(x.level, level, -1):
            scale /= self.parameters.dropped(lost)
        canonical = self.parameters.scales[level]
        if scale < MIN_SCALE:
            fail(
                ScaleError,
                f"{who}: from scale {scale_text(x.scale)} at level {x.level} 2^{log2(scale):.1f} would be left at "
                f"level {level}: nothing of the values; mod_switch keeps the scale, multiply first to rescale",
            )
        return canonical if is_close(scale, canonical) else scale

    def _plain(self, who: str, values: PlainOperand, x: Ciphertext, scale: float) -> Plaintext:
        """A public operand over the primes of x."""
        if isinstance(values, Plaintext):
            check_parameters(f"{who}: the plaintext", values.parameters, self.parameters)
            plain = values
            if plain.level != x.level:
                fail(
                    LevelError,
                    f"{who}: the plaintext is at level {plain.level}, the ciphertext at level {x.level}; "
                    f"encode it with level={x.level}",
                )
            check_alike(who, x.encoding, plain.encoding)
        elif x.encoding == "coefficients":
            plain = encode_coefficients(who, values, self.parameters, self._encoder, (x.level, scale))
        else:
            vector = slot_values(who, values, self.parameters.slots)
            check_encodable(who, vector, scale)
            plain = Plaintext(self._encoder.encode(vector, (0, x.level), scale), self.parameters)
        if x.encoding == "slots" and plain.slots not in (1, x.slots):
            fail(
                ShapeError,
                f"{who}: {plain.slots} public values for {x.slots} slots; give {x.slots} of them, or one number",
            )
        return plain

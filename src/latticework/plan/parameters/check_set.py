"""Whether the numbers of a bootstrapping set are such that there can be a chain, before any prime is looked for."""

from __future__ import annotations

from math import isfinite
from typing import Any

from latticework.errors import RangeError
from latticework.plan.parameters.bootstrap_sets import BootstrapSet
from latticework.plan.parameters.select import MAX_PRIME_BITS, MAX_RING_LOG2, MIN_RING_LOG2

MOST_LEVELS = 128
WHOLE = {  # what is counted: from, to
    "log2_degree": (MIN_RING_LOG2, MAX_RING_LOG2),
    "residual": (1, MOST_LEVELS),
    "special": (1, 64),
    "degree": (2, 1023),
    "doublings": (0, 16),
    "bound": (2, 1 << 16),
}
SIZES = ("scale", "base", "special_bits")  # bits of primes, or of two
SIZES_EACH = ("stc", "eval_scales", "eval_rest", "cts")


def check_set(chosen: BootstrapSet) -> None:
    """RangeError naming the field that cannot be."""

    def refuse(field: str, value: Any, wanted: str) -> RangeError:
        return RangeError(f"bootstrapping set {chosen.name}: {field}={value!r:.60}; give {wanted}")

    if not isinstance(chosen.name, str) or not chosen.name:
        raise refuse("name", chosen.name, "a text")
    for field, (least, most) in WHOLE.items():
        value: Any = getattr(chosen, field)
        if type(value) is not int or not least <= value <= most:
            raise refuse(field, value, f"a whole number from {least} to {most}")
    least_bits, most_bits = chosen.log2_degree + 2, 2 * MAX_PRIME_BITS
    sizes = f"bits from {least_bits} to {most_bits}, of primes that are 1 modulo 2^{chosen.log2_degree + 1}"
    for field in SIZES:
        if not _is_size(getattr(chosen, field), least_bits, most_bits):
            raise refuse(field, getattr(chosen, field), sizes)
    for field in SIZES_EACH:
        values: Any = getattr(chosen, field)
        if not isinstance(values, tuple) or not values:
            raise refuse(field, values, f"a tuple of {sizes}")
        if not all(_is_size(value, least_bits, most_bits) for value in values):
            raise refuse(field, values, sizes)
    if not _is_size(chosen.ratio, 3, 30):
        raise refuse("ratio", chosen.ratio, "bits from 3 to 30, of q0 over the scale at which SlotToCoeff ends")
    levels, wanted = len(chosen.eval_scales) - 1 + len(chosen.eval_rest), _eval_levels(chosen)
    if levels != wanted:
        raise RangeError(
            f"bootstrapping set {chosen.name}: EvalMod of degree={chosen.degree} and doublings={chosen.doublings} "
            f"takes {wanted} levels, and eval_scales and eval_rest make {levels}; add or leave out some of eval_rest"
        )


def _eval_levels(chosen: BootstrapSet) -> int:
    """Return the number of levels of EvalMod: the series of the exponential, its squarings, and the sine series."""
    return chosen.degree.bit_length() + chosen.doublings + 1


def _is_size(value: Any, least: float, most: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and isfinite(value) and least <= value <= most

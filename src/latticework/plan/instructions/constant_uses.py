"""Rules for the constants of a plan in the instructions that name them, by the kind of immediate.

Apart from records, so that who only loads plans does not load these.
"""

from __future__ import annotations

from latticework.errors import IrError, ShapeError
from latticework.plan.instructions.use import Use
from latticework.values.packing.key_manifest import galois_action
from latticework.values.packing.packed_constants import ConstRef, MapSums, NumberMatrix


def _check_vectors(use: Use, constant: object) -> None:
    stated = use.stated
    if not isinstance(constant, ConstRef) or (constant.slots, constant.count) != (stated.slots, stated.count):
        raise ShapeError("has another number of slots or vectors than its use")


def _check_map(use: Use, constant: object) -> None:
    """The keys are those of the babies of the map, in their order."""
    a, *keys = use.operands
    if not isinstance(constant, MapSums):
        raise IrError("is no map of an array")
    linear_map, products = constant.map, constant.products
    if (a.count, a.slots) != (linear_map.count_in, linear_map.slots):
        takes = f"{linear_map.count_in} x {linear_map.slots} slots"
        raise ShapeError(f"takes {takes}, its operand has {a.count} x {a.slots}")
    if len(keys) != len(products.babies):
        raise IrError(f"is of {len(products.babies)} keys, there are {len(keys)}")
    for key, baby in zip(keys, products.babies, strict=True):
        if galois_action(key.galois_element, a.slots) != (baby.steps % a.slots, baby.conj):
            raise IrError(f"needs {baby}, which the key of galois element {key.galois_element} does not make")
    if not products.groups:
        raise IrError("has no diagonal")
    if use.stated.count != len(products.groups):
        raise ShapeError(f"makes {len(products.groups)} sums, {use.stated.count} are stated")


def _check_matrix(use: Use, constant: object) -> None:
    a = use.operands[0]
    if not isinstance(constant, NumberMatrix):
        raise IrError("is no matrix of numbers")
    if (use.stated.count, a.count) != constant.shape or a.slots != constant.map.slots:
        have = f"{a.count} ciphers of {a.slots} slots to {use.stated.count}"
        raise ShapeError(f"is a matrix of {constant.shape} for {constant.map.slots} slots, used from {have}")


_FITS = {"v": _check_vectors, "m": _check_map, "w": _check_matrix}  # by the letter of the immediate


def check_constant_use(kind: str, use: Use, constant: object) -> None:
    """Raise unless a constant fits the instruction that names it by an immediate of this kind.

    raises  ShapeError or IrError; the message goes on after the name of the constant
    """
    _FITS[kind](use, constant)

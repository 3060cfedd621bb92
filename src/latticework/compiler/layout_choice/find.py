"""Layout choice for a program: the width of its vectors, and the search among all that lowering can do."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from latticework.compiler.layout_choice.prices import (
    LAN_PRICE,
    Counted,
    LoweringPrices,
    Seconds,
    VectorCosts,
)
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.errors import LayoutError
from latticework.ir import Loc, Module
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.cost import CostModel
from latticework.plan.cost.networks import LAN_BITS_A_SECOND
from latticework.plan.parameters import MAX_SLOTS, modulus_limit_bits
from latticework.tensor.layout import LayoutRules
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.layout_candidates import pad_shape, seeds, skew
from latticework.tensor.layout.search import Decisions, LayoutSearch
from latticework.tensor.layout.tuning import USUAL, LayoutTuning
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.choices import choices
from latticework.tensor.ops.row_major import row_major
from latticework.values.packing.pack import GAP, MAX_PLACES, REPEAT

USUAL_DEPTH, USUAL_SCALE_BITS, LEAST_SCALE_BITS = 6, 40, 30
MIN_RING_DEGREE = 1 << 13


def find_layouts(
    module: Module, slots: int, costs: VectorCosts, techniques: Techniques = ALL, *, scarce_levels: bool = False,
    level_seconds: float = 0.0, tuning: LayoutTuning = USUAL,
) -> Decisions:  # fmt: skip
    """The search for layouts on vectors of this length; for few levels rather than little time if these are scarce.

    level_seconds  what a level takes that an iteration of a loop spends, where loops bootstrap
    """
    prices = LoweringPrices(module, costs, techniques)
    room = LayoutRules(slots, techniques.rolls, techniques.client_copies, asked=techniques.layout_search)
    offered = choices if techniques.layout_search else row_major
    fill = REPEAT if techniques.client_copies else GAP

    def sent_layouts(shape: Shape) -> Sequence[Layout]:
        return seeds(shape, slots, fill) if room.asked else (room.input_layout(shape),)

    return LayoutSearch(room, offered, prices, sent_layouts, tuning, scarce_levels, level_seconds).run(module)


def vector_costs(
    model: CostModel, ring_degree: int, depth: int, bits_a_second: float, techniques: Techniques
) -> VectorCosts:
    """The prices that a search for layouts minimizes."""
    if techniques.measured_costs:
        return Seconds(model, ring_degree, depth, techniques, bits_a_second)
    return Counted(techniques, LAN_PRICE * LAN_BITS_A_SECOND / bits_a_second)


def slots_needed(module: Module) -> int:
    """Slots of a vector that holds the largest secret tensor of a module, axes padded to powers of two.

    raises  LayoutError naming the tensor's line if no number of vectors may hold it
    """
    placed: list[tuple[Shape, Loc | None]] = []
    for value in module.inputs:
        if isinstance(value.type, TensorType):
            placed.append((value.type.shape, value.origin.loc if value.origin is not None else None))
    for op in module.walk():
        values = [*op.results, *(arg for region in op.regions for arg in region.block.args)]
        placed += [(v.type.shape, op.loc) for v in values if isinstance(v.type, TensorType) and v.type.secret]
    largest, line = max(placed, key=lambda item: prod(pad_shape(item[0])), default=((), None))
    needed = prod(pad_shape(largest))
    if needed > MAX_PLACES:
        raise LayoutError(
            f"a tensor of shape {largest} takes {needed} slots, its axes padded to powers of two; at most {MAX_PLACES} "
            "can be encrypted together: use fewer rows at a time, or split it",
            at=line,
        )
    return needed


def may_share_sums(module: Module, slots: int) -> bool:
    """Whether a product of a secret vector with a public matrix can be shared out among copies on vectors this long."""
    for op in module.walk():
        secret = [value for value in op.operands if value.is_secret]
        if op.name == "tensor.matmul" and len(secret) == 1:
            lengths = prod(pad_shape(shape_of(op.result)))
            if skew(shape_of(secret[0]), slots, lengths) is not None:
                return True
    return False


def ring_degree_for(depth: int) -> int:
    """The smallest ring degree that usually holds a program of this depth with 128-bit security."""
    return _holding((depth + 2) * USUAL_SCALE_BITS * 4 // 3)


def least_ring_degree(depth: int) -> int:
    """A ring degree that a program of this depth needs in any case for 128-bit security."""
    return _holding((depth + 3) * LEAST_SCALE_BITS)


def _holding(bits: int) -> int:
    degrees = (1 << n for n in range(MIN_RING_DEGREE.bit_length() - 1, 2 * MAX_SLOTS.bit_length()))
    return next((n for n in degrees if n == 2 * MAX_SLOTS or (modulus_limit_bits(n, 128) or 0) >= bits), 2 * MAX_SLOTS)

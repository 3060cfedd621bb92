"""refresh-ends: an output that goes on as an input of the next run is bootstrapped, where it ends below that input.

In/out: vec IR with bootstraps placed, same cleartext meaning. The bootstrap ends at the level at which the input
starts. Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Mapping

from latticework.compiler.levels.depth import levels_of, lowest_input_levels
from latticework.compiler.levels.early_rescale import lowest_levels
from latticework.errors import RangeError
from latticework.ir import Builder, Module, Op


def refresh_ends(
    module: Module, feedback: Mapping[int, int], residual: int, exponents: Mapping[int, int | None], *, iterations: int
) -> Module:
    """The module with a bootstrap before each output that needs one.

    feedback   numbers of outputs -> numbers of the inputs that they are in the next run
    residual   levels that bootstraps leave at most
    exponents  k of these outputs, whose elements lie within [-2^k, 2^k]; None: nobody knows
    raises     RangeError for an output of which that is not known
    """
    starts = lowest_input_levels(module, levels_of(module, residual=residual))
    ends = {number: starts[of] for number, of in feedback.items()}
    levels = levels_of(module, starts, residual)
    levels = levels_of(
        module, starts, residual, lowest=lowest_levels(module, levels, -residual, ends)
    )  # as decided later
    result = module.clone()
    end = result.body.terminator
    for number, of in feedback.items():
        start = starts[of]
        if start <= (levels.of[module.body.terminator.operands[number]] or 0):
            continue
        exponent = exponents.get(number)
        if exponent is None:
            name = module.outputs[number]
            raise RangeError(
                f"compile: feed= makes the result {name} an input of the next run, for which it has to be "
                "bootstrapped; on the calibration data it grows beyond what can be: scale it down"
            )
        value = end.operands[number]
        loc = value.owner.loc if isinstance(value.owner, Op) else end.loc
        refreshed = Builder(result.body, loc).before(end).build(
            "vec.bootstrap", [value], target=start + residual, exponent=exponent, iterations=iterations
        )  # fmt: skip
        refreshed.origin = value.origin
        end.set_operand(number, refreshed)
    return result

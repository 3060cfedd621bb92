"""decide_bfv: what stands at every use of every value of a program under BFV.

In: a `vec` module of straight-line code. Out: its `LevelPlan`. No product takes a level, so all may lie at the top;
where values may come down (`lowest_bfv`) they do before a rotation, a product or a linear map, which then have fewer
primes to compute with. Products are relinearised where that takes the fewest operations (`lazy_bfv`).
Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from latticework.compiler.levels.decide import Decider
from latticework.compiler.levels.depth import Levels, public_value
from latticework.compiler.levels.lazy_bfv import choose_relinearized, keeps_degree
from latticework.compiler.levels.level_plan import (
    TOP,
    CipherState,
    Drop,
    Encode,
    LevelPlan,
    NumberOp,
    Settle,
    State,
    after,
)
from latticework.compiler.levels.operands import Operands
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.errors import UnsupportedError
from latticework.ir import Module, Op, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.packed_constants import ConstRef

_SWITCHING = ("vec.rotate", "vec.linear_transform")


def decide_levels_bfv(
    module: Module,
    techniques: Techniques = ALL,
    starts: Mapping[int, int] = {},
    lowest: Mapping[Value, int] = {},
    *,
    without_keys: bool = False,
) -> LevelPlan:
    """The level plan of a verified `vec` module of straight-line code.

    techniques  whether products are relinearised lazily
    starts      levels of inputs that are not at the top, by number
    lowest      levels to which values may come down
    without_keys  outputs are left at their degree, and come down as far as they may
    raises  UnsupportedError for what BFV has not (polynomials, conjugates, loops), at the user's line
    """
    if any(not isinstance(v.type, VecType) for v in module.inputs):
        raise UnsupportedError("BFV: run-time integers are for loops, which it has not; give a plain int")
    early = set() if without_keys else choose_relinearized(module, lazy=techniques.lazy_relinearization)
    decider = _DeciderBfv(techniques, early, lowest, without_keys=without_keys)
    decider.begin(module.inputs, [starts.get(number, TOP) for number in range(len(module.inputs))])
    decider.block(module.body, decider.outputs)
    depth = -min((state.level for state in decider.states.values() if state is not None), default=TOP)
    return LevelPlan(module, "bfv", decider.states, decider.ops, {}, depth, is_lowered=bool(lowest))


def needs_keys(module: Module) -> bool:
    """Whether a straight-line `vec` module rotates anything, or reads a product where degree 1 is needed."""
    quadratic: set[Value] = set()
    for op in module.body.ops[:-1]:
        reads = [value for value in op.operands if value in quadratic]
        if op.name in _SWITCHING or any(not keeps_degree(op, value) for value in reads):
            return True
        if reads or (op.name == "vec.mul" and all(value.is_secret for value in op.operands)):
            quadratic.add(op.result)
    return False


class _DeciderBfv(Decider):
    """All scales are 1, so nothing is rescaled, and sums and products with public numbers take any degree.

    early   values that are relinearised where they are made
    lowest  levels to which values may come down
    """

    plain_sums = ("bfv.add_plain", "bfv.sub_plain")

    def __init__(
        self, techniques: Techniques, early: set[Value], lowest: Mapping[Value, int], *, without_keys: bool
    ) -> None:
        super().__init__(Levels(), techniques)
        self.early = early
        self.lowest = lowest
        self.without_keys = without_keys
        for name in ("vec.conjugate", "vec.times_i", "vec.twice_real", "vec.label", "vec.polynomial"):
            del self.rules[name]

    def op(self, op: Op) -> None:
        """One operation, and what stands after it."""
        if op.name.startswith("loop."):
            raise _unsupported_error(op)
        super().op(op)
        state = self.states[op.result]
        if state is not None and state.degree > 1 and op.result in self.early:
            then = Settle(relinearize=True, rescale=False)
            self.ops[op] = replace(self.ops[op], after=then)
            self.states[op.result] = after(state, then)

    def rule(self, op: Op) -> Callable[[Op, Operands], State]:
        """UnsupportedError where the scheme has no such operation."""
        if op.name not in self.rules:
            raise _unsupported_error(op)
        return super().rule(op)

    def before_addend(self, operands: Operands, cipher: int) -> None:
        """Nothing: addends are added to any degree."""

    def enter(self, op: Op, operands: Operands, number: int) -> None:
        """An operand settled, as low as it may be."""
        operands.settle(number)
        self.bring_down(operands, (number,), self.lowest.get(op.operands[number], TOP))

    def bring_down(self, operands: Operands, numbers: Iterable[int], level: int) -> None:
        """Ciphertexts of any degree to the lowest level of any of them, or to this one if that is lower."""
        ciphers = [number for number in numbers if operands.states[number] is not None]
        level = min([level, *(operands.cipher(number).level for number in ciphers)])
        for number in ciphers:
            if operands.cipher(number).level > level:
                operands.step(number, Drop(level))

    def add(self, op: Op, operands: Operands) -> State:
        """Add or subtract, on the lower level of the two."""
        self.bring_down(operands, (0, 1), TOP)
        return super().add(op, operands)

    def concat(self, op: Op, operands: Operands) -> State:
        """Join arrays, of degree 1."""
        self.outputs(op, operands)
        self.bring_down(operands, range(len(operands.states)), TOP)
        return self.write(op, "rlwe.concat", operands, operands.cipher(0))

    def mul(self, op: Op, operands: Operands) -> State:
        """Multiply; a product of ciphertexts has degree 2."""
        a, b = operands.states
        if a is not None and b is not None:
            is_square = op.operands[0] is op.operands[1]
            reads = (0,) if is_square else (0, 1)
            for number in reads:
                operands.settle(number)
            self.bring_down(operands, reads, max(self.lowest.get(op.operands[number], TOP) for number in reads))
            name = "bfv.square" if is_square else "bfv.mul"
            return self.write(op, name, operands, CipherState(operands.cipher(0).level, degree=2), reads)
        cipher, public = (1, 0) if a is None else (0, 1)
        is_array = isinstance(public_value(op.operands[public]), ConstRef)
        if is_array:
            operands.step(public, Encode(operands.cipher(cipher).level))
        name = "rlwe.mul_plain" if is_array else NumberOp.TIMES_INTEGER
        return self.write(op, name, operands, operands.cipher(cipher), (cipher, public))

    def spending(self, op: Op, operands: Operands) -> State:
        """A linear map is expanded later; it takes no level."""
        self.enter(op, operands, 0)
        return self.write(op, "bfv.linear_transform", operands, operands.cipher(0))

    def outputs(self, end: Op, operands: Operands) -> None:
        """Encrypt the outputs, and relinearise them to degree 1 where there are keys."""
        for number in range(len(operands.states)):
            operands.encrypt(number)
            if not self.without_keys:
                operands.settle(number)
            else:
                self.bring_down(operands, (number,), self.lowest.get(end.operands[number], TOP))


def _unsupported_error(op: Op) -> UnsupportedError:
    return UnsupportedError(
        f"{op.name}: BFV computes exactly on integers modulo t and has no such operation; compile for CKKS, or "
        "write it with +, - and *",
        at=op.loc,
    )

"""decide: what stands at every use of every value of a program that is computed without an evaluation key.

In: a `vec` module whose linear maps are products with public matrices of numbers. Out: its `LevelPlan`, or None where
the program needs a key. Nothing is relinearised or rescaled: degrees and scales grow, and the owner decrypts with
powers of the secret. Numbers of matrices are rounded to a few bits, so that scales stay small.
Source: plaintext-ciphertext matrix multiplication as in ePrint 2024/1284, with squares left at their degree.
Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Callable

from latticework.compiler.levels.decide import Decider
from latticework.compiler.levels.depth import Levels, is_free_factor, public_value
from latticework.compiler.levels.level_plan import TOP, CipherState, Encrypt, LevelPlan, Negate, NumberOp, Scale, State
from latticework.compiler.levels.operands import Operands
from latticework.compiler.options.techniques import Techniques
from latticework.ir import Module, Op
from latticework.ir.dialects.vec_dialect import VecType
from latticework.plan.instructions.products import MAX_DEGREE
from latticework.values.packing.channel_square import ChannelSquare
from latticework.values.packing.packed_constants import ConstRef, number_matrix

MOST_DEGREE = MAX_DEGREE  # of results, which owners decrypt


class NeedsKeyError(Exception):
    """Raised where a program needs a key."""


def decide_without_keys(module: Module, weight_bits: int) -> LevelPlan | None:
    """The level plan of a verified `vec` module, all of it at the top; None where it needs a key.

    weight_bits  of the scale at which numbers of matrices are rounded
    """
    if any(not isinstance(v.type, VecType) for v in module.inputs):
        return None
    decider = _DeciderWithoutKeys(weight_bits)
    decider.begin(module.inputs, [TOP] * len(module.inputs))
    try:
        decider.block(module.body, decider.outputs)
    except NeedsKeyError:
        return None
    return LevelPlan(module, "ckks", decider.states, decider.ops, {}, 0)


class _DeciderWithoutKeys(Decider):
    """Values of any degree and scale, at the top."""

    def __init__(self, weight_bits: int) -> None:
        super().__init__(Levels(), Techniques())
        self.step = 2.0**-weight_bits
        kept = ("add", "sub", "neg", "mul", "polynomial", "take", "sum", "concat", "label", "linear_transform")
        self.rules = {name: rule for name, rule in self.rules.items() if name.removeprefix("vec.") in kept}

    def op(self, op: Op) -> None:
        """One operation."""
        if op.regions or op.name.startswith("loop.") or op.name in ("vec.bootstrap", "vec.trivial"):
            raise NeedsKeyError
        super().op(op)

    def rule(self, op: Op) -> Callable[[Op, Operands], State]:
        """NeedsKeyError where there is none without a key."""
        if op.name not in self.rules:
            raise NeedsKeyError
        return super().rule(op)

    def add(self, op: Op, operands: Operands) -> State:
        """Add or subtract what has one scale, of any degrees."""
        a, b = operands.states
        if a is not None and b is not None and a.scale != b.scale:
            raise NeedsKeyError
        return super().add(op, operands)

    def add_public(self, op: Op, operands: Operands) -> State:
        """A public addend, which becomes a ciphertext at the scale of the value."""
        cipher, public = (1, 0) if operands.states[0] is None else (0, 1)
        is_difference = op.name == "vec.sub"
        if is_difference and cipher == 1:
            operands.step(cipher, Negate())
        state = operands.cipher(cipher)
        operands.step(public, Encrypt(TOP, state.scale))
        name = "rlwe.sub" if is_difference and cipher == 0 else "rlwe.add"
        return self.write(op, name, operands, state, (cipher, public))

    def concat(self, op: Op, operands: Operands) -> State:
        """Join arrays of one kind."""
        if len(set(operands.states)) > 1:
            raise NeedsKeyError
        return super().concat(op, operands)

    def mul(self, op: Op, operands: Operands) -> State:
        """Multiply, up to the degree that owners decrypt."""
        a, b = operands.states
        if a is None or b is None:
            return self.mul_public(op, operands)
        if op.operands[0] is op.operands[1]:
            return self.square(op, operands)
        return self.write(op, "ckks.mul", operands, _multiply(a, b), (0, 1))

    def square(self, op: Op, operands: Operands) -> State:
        """Multiply a value with itself, up to the degree that owners decrypt."""
        state = operands.cipher(0)
        return self.write(op, "ckks.square", operands, _multiply(state, state), (0,))

    def polynomial(self, op: Op, operands: Operands) -> State:
        """A square; other polynomials need a key."""
        if not isinstance(op.attrs["polynomial"], ChannelSquare):
            raise NeedsKeyError
        return self.square(op, operands)

    def mul_public(self, op: Op, operands: Operands) -> State:
        """A product with a small integer; others go into matrices before."""
        cipher, public = (1, 0) if operands.states[0] is None else (0, 1)
        factor = public_value(op.operands[public])
        if factor is None or isinstance(factor, ConstRef) or not is_free_factor(factor):
            raise NeedsKeyError
        return self.write(op, NumberOp.TIMES_INTEGER, operands, operands.cipher(cipher), (cipher, public))

    def label(self, op: Op, operands: Operands) -> State:
        """A value that is read by another scale."""
        state = operands.cipher(0)
        scale = Scale(state.scale.power, state.scale.over * abs(op.attrs["factor"]))
        return self.write(op, NumberOp.LABEL, operands, state._replace(scale=scale))

    def spending(self, op: Op, operands: Operands) -> State:
        """A product with a matrix of numbers at a small scale, of any degree."""
        if number_matrix(op.attrs["map"]) is None:
            raise NeedsKeyError
        state = operands.cipher(0)
        scale = Scale(state.scale.power, state.scale.over * self.step)
        return self.write(op, "ckks.linear_transform", operands, state._replace(scale=scale))

    def outputs(self, end: Op, operands: Operands) -> None:
        """Outputs are as they are."""
        if any(state is None for state in operands.states):
            raise NeedsKeyError


def _multiply(a: CipherState, b: CipherState) -> CipherState:
    """The state of a product.

    raises  NeedsKeyError for one of a degree that owners do not decrypt
    """
    if a.degree + b.degree > MOST_DEGREE:
        raise NeedsKeyError
    return CipherState(TOP, Scale(a.scale.power + b.scale.power, a.scale.over * b.scale.over), a.degree + b.degree)

"""Bounds of every value of a program for inputs anywhere in the ranges that clients accept, and for any trip count.

In:  rlwe + ckks IR in which every value has its level and scale, linear maps and polynomials still symbolic.
Out: `ValueBounds`: the interval and the noise of every output, and how much of the modulus the largest value takes.
Loops are run iteration by iteration, and what any number of iterations can leave is joined; a loop of many iterations
ends where another one adds nothing. Conditions that depend on a run-time integer take both branches.
Source: interval arithmetic; average-case noise as in `params.noise`, correlation by lineage.
Cost: O(ops), times the iterations of loops; a linear map costs its diagonals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from math import ceil, inf, log2
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels.abstract_value import (
    AbstractValue,
    Array,
    Lineage,
    add,
    are_apart,
    either,
    exactly,
    is_finite,
    is_within,
    multiply,
    negate,
    rotate,
    scale,
    unite,
)
from latticework.compiler.levels.complex_pair import (
    ComplexPair,
    add_pairs,
    as_complex_pair,
    bound_bootstrap,
    each,
    multiply_by_i_power,
    multiply_pairs,
    subtract_pairs,
)
from latticework.compiler.levels.copy_noise import mean_shift, steep_spread
from latticework.compiler.levels.known_slots import WITHIN, Draw, owners_of
from latticework.compiler.levels.map_noise import add_rotated_variance, read_lineages, with_next
from latticework.compiler.levels.matrix_bounds import RoundedMatrix
from latticework.compiler.levels.polynomial_extremes import extremes, largest_terms
from latticework.compiler.levels.spans import Span, of_indices
from latticework.compiler.levels.square_bounds import bound_square, may_leave
from latticework.compiler.levels.vector_moves import arrays_of, move
from latticework.ir import Block, Loc, Module, Op, Value, attribute_key, last_uses, walk_block
from latticework.ir.dialects.rlwe_dialect import CipherType
from latticework.ir.dialects.rlwe_types import PlainType
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain, step_noise
from latticework.plan.parameters.bootstrap_noise import BootstrapNoise, BootstrapStep
from latticework.values.extension import _core
from latticework.values.packing.loop_nests.baby_giant import Choice
from latticework.values.packing.loop_nests.map_terms import made_outputs, read_inputs
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice
from latticework.values.packing.packed_constants import (
    SMEARED,
    Approximant,
    ChannelPolynomial,
    ConstRef,
    LinearMap,
    PiecewiseLinearComposition,
    row_of,
)
from latticework.values.packing.slot_arrays import as_vectors
from latticework.values.sums import add_up

TOLERANCE = 1e-8  # of arguments outside [-1, 1], which rounding may give; errors of polynomials hold so far outside
POINT = 1e-8  # of a number, or of 1, by which rounding may move it
MAX_ITERATIONS = 1 << 14  # of all loops together
MAX_EXTRAPOLATION = 4.0  # times the interval of a polynomial, beyond which its values are of no use
MOST_BITS = 1 << 10
OPENED = 1.0  # by how much a sign is taken to be off within its gap, to see what that moves
KEPT = 2.0**-20  # of a gap, by which arguments may be closer to 0 by rounding: the first stage is made for that
SMEAR = 1.2  # times its deviation, by which noise of either sign moves |x|: 0.8, and what the first stage adds
LOST = 32.0  # of a bias, beside which OPENED is not seen
PACKED = 4.0  # variance of what is added to a packed linear map, whose halves are added up to the result: 2 Re(e)
PolynomialNoise = Callable[[Approximant, CipherType, CipherType, float], float]


class Comparison(NamedTuple):
    """A composed sign, by the line that asks for it and its gap, as a part of half of its interval."""

    loc: Loc
    gap: float


Item = AbstractValue | ComplexPair | Span | None  # None: not followed
KnownArguments = dict[Op, npt.NDArray[np.int64]]  # by slot what its number is about, -1 where it is not known
_ALIKE_IN_PARTS = (
    "rlwe.neg", "rlwe.sum", "rlwe.rotate", "rlwe.relinearize", "rlwe.rescale", "rlwe.drop_level", "rlwe.mul_int",
    "ckks.linear_transform",
)  # fmt: skip
_COMPLEX_OPS = ("ckks.bootstrap", "rlwe.mul_monomial", "rlwe.relabel")


@dataclass
class ValueBounds:
    """Bounds of the values of a program, and the comparisons and polynomials that may fail.

    outputs  in order; None where nothing is known
    size     of the largest value and its noise, as one at level 0 takes as large a part of the modulus; inf: unknown
    leaving  lines whose polynomial may be given arguments outside the interval it approximates on: by what values can
             be, or because that is not known
    tensors  bound on the noise of watched values by position, in the slots that hold their elements
    proved   the outputs of the program with its functions exact, and how far from them those computed are: their bias
             has the errors of polynomials in it. None where an argument may leave the interval of a polynomial
    assumed  of `draws`, what numbers are about that were taken to be within [-1, 1], where they would not be otherwise
    open     comparisons whose argument may be within their gap, or outside their interval, where the sign may be the
             wrong one: `proved` is of inputs that keep both
    beyond   those whose argument may be outside their interval, by what values can be, noise apart, or because that is
             not known: a sign may be the wrong one there and look decided
    opened   the same as `proved`, where some comparisons are off within their gaps; None where that cannot be told
             from other errors, which are as large: `is_vague`
    short_bits  of scale, for noise beside kinks to stay within what is reserved for it
    """

    outputs: list[AbstractValue | None] = field(default_factory=list)
    proved: list[AbstractValue | None] = field(default_factory=list)
    open: set[Comparison] = field(default_factory=set)
    beyond: set[Comparison] = field(default_factory=set)
    opened: Callable[[Collection[Comparison]], list[AbstractValue | None]] | None = None
    is_vague: bool = False
    short_bits: int = -MOST_BITS
    size: float = 0.0
    leaving: set[Loc] = field(default_factory=set)
    assumed: set[int] = field(default_factory=set)
    tensors: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ChainNoise:
    """The noise of operations on a chain.

    deviations        of noise that count as its bound
    polynomial_noise  deviation that evaluating a polynomial adds: its operand and result types, and the largest
                      argument
    choices           how linear maps are carried out; others are not packed
    bootstrap_noise   what bootstraps with the chain leave; without it, what comes out of one is not known
    """

    chain: ModulusChain
    deviations: float
    polynomial_noise: PolynomialNoise
    choices: Mapping[Op, Choice | MatrixChoice] = field(default_factory=dict)
    bootstrap_noise: BootstrapNoise | None = None


def bound_values(
    module: Module,
    inputs: Sequence[tuple[Array, Array] | int],
    noise: ChainNoise,
    *,
    elements: Mapping[int, npt.NDArray[np.bool_]],
    draws: Sequence[Draw] = (),
) -> ValueBounds:
    """Follow a managed module: as it is, and, if polynomials stand for functions, against the functions.

    inputs    lowest and highest slots, (slots,) or (count, slots); of a run-time integer the largest
    elements  slots that hold elements of watched values, (count, slots), by position
    draws     inputs, and numbers that are within [-1, 1] for all that clients accept: arguments of polynomials that
              are such are taken to be there
    """
    known = _known_arguments(module, noise, draws)
    bounds = _follow(_Run(module, noise, elements, known=known), inputs)
    bounds.proved = bounds.outputs
    if any("polynomial" in op.attrs and op.attrs["polynomial"].error for op in module.walk()):

        def against_functions(opened: Collection[Comparison] = ()) -> ValueBounds:
            return _follow(_Run(module, noise, {}, with_functions=True, opened=opened, known=known), inputs)

        exact = against_functions()
        bounds.proved, bounds.assumed = exact.outputs, bounds.assumed | exact.assumed
        bounds.open, bounds.beyond = exact.open, exact.beyond
        if not exact.is_vague:
            bounds.opened = lambda opened: against_functions(opened).outputs
    if any(isinstance(op.attrs.get("polynomial"), PiecewiseLinearComposition) for op in module.walk()):
        inside = _Run(module, noise, {}, within=True, known=known)  # noise where no argument leaves its interval
        bounds.short_bits = _follow(inside, inputs).short_bits
    return bounds


def _known_arguments(module: Module, noise: ChainNoise, draws: Sequence[Draw]) -> KnownArguments:
    """Slots of the arguments of polynomials that hold known numbers, each time that a polynomial is reached."""
    seen: list[dict[Op, list[Array]]] = []
    for draw in draws:
        run = _Run(module, noise, {})
        run.arguments = {}
        _follow(run, draw.inputs)
        seen.append(run.arguments)
    result: KnownArguments = {}
    for op, visits in seen[0].items() if seen else ():
        times = [each.get(op, []) for each in seen]
        if all(len(each) == len(visits) for each in times):
            owners = np.stack([owners_of(visit, draws) for visit in zip(*times, strict=True)])
            result[op] = np.where(np.all(owners == owners[0], axis=0), owners[0], -1)
    return result


def _follow(run: _Run, inputs: Sequence[tuple[Array, Array] | int]) -> ValueBounds:
    module, chain = run.module, run.chain
    items: list[Item] = []
    for value, given in zip(module.inputs, inputs, strict=True):
        if isinstance(given, int):
            items.append(Span(0, given))
            continue
        exact = exactly(as_vectors(given[0]), as_vectors(given[1]))
        items.append(run.noisy(exact, step_noise.public_encryption(chain), value.type))
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = run.block(module.body, items)
    run.bounds.outputs = [item if isinstance(item, AbstractValue) else None for item in outputs]
    if any(item is None for item in outputs):
        run.bounds.size = inf
    return run.bounds


class _Run:
    """One walk over a module.

    with_functions  values are those of the program with its functions exact; errors of polynomials are bias
    within          arguments of polynomials are taken to lie in their intervals, whatever they can be
    known           slots of arguments that are within [-1, 1] by constraints on inputs
    opened          comparisons that are off where their argument may be within the gap
    """

    def __init__(
        self,
        module: Module,
        noise: ChainNoise,
        elements: Mapping[int, npt.NDArray[np.bool_]],
        *,
        with_functions: bool = False,
        within: bool = False,
        known: KnownArguments | None = None,
        opened: Collection[Comparison] = (),
    ) -> None:
        self.known = {} if known is None else known
        self.arguments: dict[Op, list[Array]] | None = None  # of polynomials, collected where it is asked for
        self.within, self.comparisons_opened = within, opened
        self.choices, self.bootstrap_noise, self.polynomial_noise = (
            noise.choices, noise.bootstrap_noise, noise.polynomial_noise,
        )  # fmt: skip
        self.module, self.chain, self.deviations = module, noise.chain, noise.deviations
        self.elements, self.with_functions = elements, with_functions
        self.bounds = ValueBounds()
        self.env: dict[Value, Item] = {}
        self.sources = count()
        self.iterations = 0
        self.constants: dict[Hashable, int] = {}  # sources of roundings, which are the same wherever a constant is used

    # -- blocks ----------------------------------------------------------------------------------

    def block(self, block: Block, arguments: Sequence[Item]) -> list[Item]:
        """Run a block; returns what it yields."""
        for value, item in zip(block.args, arguments, strict=True):
            self.write(value, item)
        until = last_uses(block)
        for place, op in enumerate(block.ops):
            operands = [self.env[v] for v in op.operands]
            if op.name == "loop.yield":
                return operands
            for value, item in zip(op.results, self.results(op, operands), strict=True):
                self.write(value, item)
            for value in {*op.operands, *op.results}:  # what comes from outside a loop is read again
                if until[value] == place and _is_defined_in(value, block):
                    self.env.pop(value, None)
        raise AssertionError("block without loop.yield")

    def write(self, value: Value, item: Item) -> None:
        """Set a value, and note what it takes of the modulus."""
        if isinstance(item, AbstractValue) and not is_finite(item):
            item = None
        self.env[value] = item
        if not isinstance(value.type, CipherType):
            return
        if isinstance(item, ComplexPair):
            self.note(item.largest(self.deviations), value.type)
            return
        if not isinstance(item, AbstractValue):
            self.bounds.size = inf
            return
        off = item.largest_error(self.deviations)
        self.note(float(np.max(item.size + off)), value.type)
        position = value.origin.position if value.origin is not None else None
        if position is not None and position[0] in self.elements:
            held = self.elements[position[0]]
            worst = float(np.max(np.broadcast_to(off, item.low.shape), where=held, initial=0.0))
            worst *= abs(value.origin.factor)  # type: ignore[union-attr]
            self.bounds.tensors[position[0]] = max(self.bounds.tensors.get(position[0], 0.0), worst)

    def note(self, size: float, kind: CipherType) -> None:
        """A value of this magnitude."""
        chain, level = self.chain, kind.level
        above = log2(chain.modulus(level.index, level.track)) - log2(chain.modulus(0, level.track))
        self.bounds.size = max(self.bounds.size, size * kind.scale / chain.main.scales[0] * 2.0 ** -min(above, 1000.0))

    def results(self, op: Op, operands: list[Item]) -> list[Item]:
        """Those of one operation."""
        if op.name == "loop.for":
            return self.loop(op, operands)
        if op.name == "loop.if":
            return self.branches(op, operands)
        if op.name == "loop.index_constant":
            return [Span(op.attrs["value"], op.attrs["value"])]
        if op.name == "loop.index_div":
            (a,), by = operands, op.attrs["by"]
            assert isinstance(a, Span)
            return [Span(a.low // by, a.high // by)]
        if op.name.startswith("loop.index_"):
            a, b = operands
            assert isinstance(a, Span) and isinstance(b, Span)
            return [of_indices(op.name, a, b)]
        if op.name in ("rlwe.take_at", "rlwe.put_at", "rlwe.encode_at"):
            return [self.by_number(op, operands)]
        if any(not isinstance(x, AbstractValue | ComplexPair) for x in operands):
            self.leave((op,))
            return [None]
        if op.name in _COMPLEX_OPS or any(isinstance(x, ComplexPair) for x in operands):
            return [self.step_of_pairs(op, operands)]  # type: ignore[arg-type]
        return [self.step(op, operands)]  # type: ignore[arg-type]

    def leave(self, ops: Iterable[Op]) -> None:
        """Arguments of these may be anything, or outside the interval."""
        for op in ops:
            if "polynomial" in op.attrs:
                self.bounds.leaving.update(loc for loc, _ in op.loc.shares)
                comparisons = _comparisons(op)  # none of a later stage, which noise alone may take out
                self.bounds.open.update(comparisons)
                self.bounds.beyond.update(comparisons)

    def loop(self, op: Op, operands: list[Item]) -> list[Item]:
        """Run a loop; returns the union of what any number of iterations that it may make leaves."""
        static = op.attrs.get("static_trip")
        trip_counts, carried = (Span(static, static), operands) if static is not None else (operands[0], operands[1:])
        assert isinstance(trip_counts, Span)
        least, most = max(trip_counts.low, 0), max(trip_counts.high, 0)
        body = op.regions[0].block
        left = list(carried) if least == 0 else None
        ever = list(carried)
        for number in range(most):
            self.iterations += 1
            if any(item is None for item in carried) or self.iterations > MAX_ITERATIONS:
                self.leave(walk_block(body))
                return [None] * len(carried)
            carried = self.block(body, [Span(number, number), *carried])
            left = _join(left, carried) if number + 1 >= least else left
            ever = _join(ever, carried)
            later = Span(number + 1, most - 1)
            if number % 16 == 15 and (fixpoint := self.find_fixpoint(body, ever, later)) is not None:
                return fixpoint
        assert left is not None
        return left

    def find_fixpoint(self, body: Block, ever: list[Item], iterations: Span) -> list[Item] | None:
        """Bounds of the carried values for ever, if an iteration from slightly wider ones stays within those."""
        if iterations.low > iterations.high or any(item is None for item in ever):
            return None
        wide = [_widen(item) for item in ever if isinstance(item, AbstractValue)]
        after = self.block(body, [iterations, *wide])
        if all(isinstance(b, AbstractValue) and is_within(b, a) for a, b in zip(wide, after, strict=True)):
            return list(wide)
        return None

    def branches(self, op: Op, operands: list[Item]) -> list[Item]:
        """The branch that is taken, or what either leaves."""
        condition, arguments = operands[0], operands[1:]
        assert isinstance(condition, Span)
        run, skip = (region.block for region in op.regions)
        if condition.low > 0 or condition.high < 0:
            return self.block(run, arguments)
        if condition == Span(0, 0):
            return self.block(skip, arguments)
        return _join(self.block(run, arguments), self.block(skip, arguments))

    # -- operations ------------------------------------------------------------------------------

    def noisy(self, a: AbstractValue, deviation: float, kind: Any) -> AbstractValue:
        """Add independent noise with this deviation of a coefficient."""
        return self.add_noise(a, self.slot_variance(deviation, kind))

    def add_noise(self, a: AbstractValue, variance: Array | float) -> AbstractValue:
        """Add independent noise with this variance of a slot."""
        lineage = tuple(unite((x, frozenset([(next(self.sources), 0)]))) for x in a.lineage)
        return AbstractValue(a.low, a.high, a.variance + variance, a.bias, lineage)

    def rounding_of(self, *constant: Any) -> Lineage:
        """The source that the rounding of a constant is: one for all its uses, such as those of every iteration."""
        key = tuple(attribute_key(part) for part in constant)
        if key not in self.constants:
            self.constants[key] = next(self.sources)
        return frozenset([(self.constants[key], 0)])

    def slot_variance(self, deviation: float, kind: CipherType | PlainType) -> float:
        """Variance of the real part of a slot, from the deviation of a coefficient."""
        return deviation**2 * kind.slots / kind.scale**2

    def switching(self, kind: CipherType) -> float:
        """Deviation that a key switch adds."""
        level = kind.level
        rounding = step_noise.mod_down(self.chain.ring_degree)
        return float(np.hypot(step_noise.key_product(self.chain, level.index, level.track), rounding))

    def step(self, op: Op, x: list[AbstractValue]) -> AbstractValue | ComplexPair | None:
        """One operation on vectors."""
        a, kind = x[0] if x else None, op.results[0].type
        assert isinstance(kind, CipherType | PlainType)
        if op.name == "rlwe.encode":
            return self.encode(op.attrs["value"], kind)
        assert a is not None and isinstance(kind, CipherType)
        match op.name:
            case "rlwe.add" | "rlwe.add_plain":
                return add(a, x[1])
            case "rlwe.sub" | "rlwe.sub_plain":
                return add(a, negate(x[1]))
            case "rlwe.neg":
                return negate(a)
            case "rlwe.add_int":
                public = op.attrs["addend"] / kind.scale
                return AbstractValue(a.low + public, a.high + public, a.variance, a.bias + 0.5 / kind.scale, a.lineage)
            case "rlwe.mul_int":
                before = _cipher(op.operands[0])
                result = scale(a, op.attrs["factor"] * (before.scale / kind.scale))
                if op.attrs.get("exact") is True:
                    return result  # by the integer that is meant; else by one that was rounded
                off = a.size * (0.5 * before.scale / kind.scale)
                return AbstractValue(result.low, result.high, result.variance, result.bias + off, result.lineage)
            case "ckks.mul" | "rlwe.mul_plain":
                return multiply(a, x[1], self.deviations, same=op.operands[0] is op.operands[1])
            case "ckks.square":
                return self.square(op, a)
            case "rlwe.rotate":
                return rotate(self.noisy(a, self.switching(kind), kind), op.attrs["steps"])
            case "rlwe.relinearize" | "rlwe.conjugate":
                return self.noisy(a, self.switching(kind), kind)
            case "rlwe.rescale":
                return self.noisy(a, step_noise.mod_down(self.chain.ring_degree, kind.degree), kind)
            case "rlwe.take" | "rlwe.concat" | "rlwe.sum":
                return move(op, x)
            case "ckks.linear_transform":
                return self.transform(op, a)
            case "ckks.polynomial":
                return self.polynomial(op, a)
            case "rlwe.trivial" | "rlwe.drop_level":
                return a
        raise AssertionError(f"bound_values does not follow {op.name}; say in `step` what it does to values")

    def step_of_pairs(self, op: Op, x: list[AbstractValue | ComplexPair]) -> AbstractValue | ComplexPair | None:
        """One operation on vectors that hold two, or that makes such of them."""
        before, kind = _cipher(op.operands[0]), _cipher(op.result)
        match op.name:
            case "ckks.bootstrap":
                return self.bootstrap(op, x[0])
            case "rlwe.mul_monomial":
                quarters, rest = divmod(op.attrs["exponent"], op.attrs["ring_degree"] // 2)
                return multiply_by_i_power(x[0], quarters) if rest == 0 else None
            case "rlwe.relabel":
                return each(x, lambda a: scale(a[0], before.scale / kind.scale)) if before.slots == kind.slots else None
            case "rlwe.add":
                return add_pairs(x[0], x[1])
            case "rlwe.sub":
                return subtract_pairs(x[0], x[1])
            case "rlwe.conjugate":
                a, switching = as_complex_pair(x[0]), self.switching(kind)
                real, imaginary = (self.noisy(part, switching, kind) for part in (a.real, negate(a.imaginary)))
                return ComplexPair(real, imaginary, a)
            case "ckks.mul":
                return multiply_pairs(x[0], x[1], self.deviations)
            case "rlwe.take" | "rlwe.concat":
                return each(x, lambda a: move(op, a))
            case name if name in _ALIKE_IN_PARTS and (name != "ckks.linear_transform" or op.attrs["map"].is_real):
                return each(x, lambda a: self.step_of_part(op, a[0]))
        return None

    def step_of_part(self, op: Op, a: AbstractValue) -> AbstractValue:
        """One operation that does the same to real and imaginary parts."""
        result = self.step(op, [a])
        assert isinstance(result, AbstractValue), op.name
        return result

    def bootstrap(self, op: Op, x: AbstractValue | ComplexPair) -> AbstractValue | ComplexPair | None:
        """The same slots, each within the error of a bootstrap; parts beyond its interval have larger ones."""
        before, kind = _cipher(op.operands[0]), _cipher(op.result)
        if self.bootstrap_noise is None:
            return None
        end = kind.level.index, kind.scale
        step = BootstrapStep.of(self.chain, self.bootstrap_noise, kind.slots, before.scale, end, op.attrs["iterations"])
        a = as_complex_pair(x)
        size = a.largest(self.deviations)
        if op.attrs["real"]:
            return self.add_noise(bound_bootstrap(a.real, size, step, self.deviations), 0.0)
        real, imaginary = (
            self.add_noise(bound_bootstrap(part, size, step, self.deviations), 0.0) for part in (a.real, a.imaginary)
        )
        return ComplexPair(real, imaginary)

    def by_number(self, op: Op, operands: list[Item]) -> Item:
        """A part that any number in a span may choose, or replace."""
        *parts, number = operands
        assert isinstance(number, Span)
        items: list[Item] | None = None
        for at in range(max(number.low, 0), min(number.high + 1, _num_choices(op))):
            one = self.encode(row_of(op.attrs["value"], at), op.result.type) if not parts else _by_number(op, parts, at)
            items = _join(items, [one])
        return None if items is None else items[0]  # no number of a part: refused when it runs

    def encode(self, constant: ConstRef, kind: Any) -> AbstractValue:
        """A public vector, rounded."""
        value = as_vectors(np.real(constant.evaluate(self.module.sources)))
        exact, rounding = exactly(value, value), self.rounding_of(constant, kind.scale)
        variance = np.full((len(value), 1), self.slot_variance(step_noise.encoding(), kind))
        return AbstractValue(exact.low, exact.high, variance, exact.bias, (rounding,) * len(value))

    def transform(self, op: Op, x: AbstractValue) -> AbstractValue | ComplexPair:
        """A linear map of real vectors; of complex weights each part takes the noise that the other brings into it."""
        linear_map: LinearMap = op.attrs["map"]
        real = self.transform_part(op, linear_map, x)
        if linear_map.is_real:
            return real
        imaginary = self.transform_part(op, linear_map.scale_by(-1j), x)
        both = real.variance + imaginary.variance
        return ComplexPair(replace(real, variance=both), replace(imaginary, variance=both))

    def transform_part(self, op: Op, linear_map: LinearMap, x: AbstractValue) -> AbstractValue:
        """A map by the real parts of its weights, each of which takes the end of the interval that suits its sign."""
        before, kind = _cipher(op.operands[0]), _cipher(op.result)
        is_block = (linear_map.count_in, linear_map.count_out) != (1, 1)  # else it acts on each vector of an array
        choice = self.choices.get(op)
        if isinstance(choice, MatrixChoice):
            numbers = RoundedMatrix.between(choice, self.module.sources, self.chain, before, kind)
            self.note(float(np.max(numbers.sizes @ x.size)), kind)
            rescale = 0.0 if kind.level == before.level else step_noise.mod_down(self.chain.ring_degree, kind.degree)
            return self.add_noise(numbers.multiply(x), self.slot_variance(rescale, kind))
        packing = "none" if choice is None else choice.packing
        lineages = read_lineages(linear_map, x.lineage, is_block=is_block)
        apart = np.array([are_apart(row) for row in lineages])[:, None]
        switch = self.slot_variance(self.switching(before), before)
        baby, squared = x.variance + switch, x.size**2
        if packing == "inputs":
            baby, squared = (with_next(v, read_inputs(linear_map)) for v in (baby, squared))
        if choice is not None and packing == "diagonals":
            baby, squared = (add_rotated_variance(v, choice.apart) for v in (baby, squared))
        rows = (x.low, x.high, baby, np.sqrt(baby), x.bias, x.size, squared)
        bounds = np.stack([np.broadcast_to(v, (len(x.low), kind.slots)) for v in rows], axis=1)
        sums = np.zeros((len(lineages), *bounds.shape[1:]))
        alike: Counter[tuple[int, int]] = Counter()  # diagonals of a result that are rounded alike
        for d in linear_map.diagonals:
            weights = np.ascontiguousarray(np.real(d.values.evaluate(self.module.sources)))
            ends = [(d.in_, d.out)] if is_block else [(n, n) for n in range(len(sums))]
            differ = [
                _core.maps.add_diagonal(weights, bounds[read], d.steps % kind.slots, sums[output])
                for read, output in ends
            ]
            if differ[0]:  # one number for all slots is one coefficient, whose rounding is small
                alike[d.out, hash((weights + 0.0).tobytes())] += 1  # + 0.0: zeros of both signs are alike
        low, high, squares, linear, bias, partial, encoded = np.moveaxis(sums, 1, 0)
        self.note(float(np.max(partial)) if partial.size else 0.0, kind)
        unit = before.scale / (kind.scale * self.chain.group_product(before.level.index))  # 1 / scale of the constants
        plain = unit * step_noise.encoding() * np.sqrt(kind.slots)
        giants = np.array([len(row) for row in lineages])[:, None] * switch
        fresh = encoded * (plain**2 * max(alike.values(), default=1)) + giants * unit**2
        fresh += self.slot_variance(step_noise.mod_down(self.chain.ring_degree), kind)
        carried = np.where(apart, squares, linear**2)
        if packing == "outputs":
            carried = with_next(carried, made_outputs(linear_map))
        if packing != "none":
            fresh = PACKED * fresh + self.slot_variance(self.switching(kind), kind)
        rounding = self.rounding_of(op.attrs["map"], unit)
        joint = tuple(unite((*row, rounding)) for row in lineages)
        return self.add_noise(AbstractValue(low.copy(), high.copy(), carried + fresh, bias.copy(), joint), 0.0)

    def square(self, op: Op, x: AbstractValue) -> AbstractValue | None:
        """A square, which may stand for functions."""
        stands_for = op.attrs.get("polynomial")
        if stands_for is not None and may_leave(x, stands_for):
            self.leave((op,))
            if self.with_functions and stands_for.error:
                return None
        return bound_square(x, self.deviations, stands_for if self.with_functions else None)

    def polynomial(self, op: Op, x: AbstractValue) -> AbstractValue | None:
        """A polynomial that is close to a function on [-1, 1]."""
        polynomial, kind = op.attrs["polynomial"], _cipher(op.result)
        error = polynomial.error if self.with_functions else 0.0
        if self.arguments is not None:
            is_point = x.high - x.low <= POINT * np.maximum(1.0, x.size)  # else nothing is known of it
            self.arguments.setdefault(op, []).append(np.where(is_point, x.low, np.nan))
        x = self.clip_assured(op, x)
        if self.within:
            x = AbstractValue(np.clip(x.low, -1.0, 1.0), np.clip(x.high, -1.0, 1.0), x.variance, x.bias, x.lineage)
            if isinstance(polynomial, PiecewiseLinearComposition):
                return self.only_noise(polynomial, x, kind)
        opened = self.find_open_slots(op, x)
        least, most = polynomial.ends() if isinstance(polynomial, ChannelPolynomial) else (-1.0, 1.0)
        if np.any(x.low < least - TOLERANCE) or np.any(x.high > most + TOLERANCE):
            self.leave((op,))
            if error:
                return None  # out there the polynomial may be as far from the function as can be
        if opened is not None:  # stages stay within [-1, 1] whatever their arguments in there
            x = AbstractValue(x.low, x.high, x.variance, np.where(opened, 0.0, x.bias), x.lineage)
        spread = steep_spread(polynomial, x, self.chain.slots / _cipher(op.operands[0]).slots, self.deviations)
        off = x.largest_error(self.deviations) if spread is None else x.bias + self.deviations * spread
        low, high = x.low - off, x.high + off
        largest = max(1.0, float(-low.min()), float(high.max()))
        if largest > MAX_EXTRAPOLATION:
            return None
        if isinstance(polynomial, PiecewiseLinearComposition):
            return self.apply_piecewise_linear(op, polynomial, x, (float(low.min()), float(high.max())))
        values, slopes = extremes(polynomial, largest)
        self.note(largest_terms(polynomial, largest), kind)
        least_slope, most_slope = slopes.on(low, high)
        slope = np.maximum(np.abs(least_slope), np.abs(most_slope))
        own = self.polynomial_noise(polynomial, _cipher(op.operands[0]), kind, largest)
        lowest, highest = values.on(x.low, x.high)
        bias = slope * x.bias + error
        if spread is not None:
            more = mean_shift(least_slope, most_slope, spread)
            self.bounds.is_vague |= bool(np.any(more > LOST))
            bias = bias + more
        if opened is not None:
            bias = bias + np.where(opened, OPENED, 0.0)
        bounded = AbstractValue(lowest - error, highest + error, slope**2 * x.variance, bias, x.lineage)
        return self.add_noise(bounded, own**2)

    def clip_assured(self, op: Op, x: AbstractValue) -> AbstractValue:
        """The argument of a polynomial, where constraints hold it within [-1, 1] and nothing else does."""
        owners = self.known.get(op)
        is_fit = owners is not None and owners.shape == np.broadcast_shapes(x.low.shape, x.high.shape, owners.shape)
        if owners is None or not is_fit or isinstance(op.attrs["polynomial"], ChannelPolynomial):
            return x
        held = owners >= 0
        low = np.where(held, np.clip(x.low, -WITHIN, WITHIN), x.low)
        high = np.where(held, np.clip(x.high, -WITHIN, WITHIN), x.high)
        beyond = (x.low < -1.0 - TOLERANCE) | (x.high > 1.0 + TOLERANCE)
        if not beyond.any() or np.any(beyond & ~held):
            return x  # it needs none, or they are not enough
        self.bounds.assumed.update(np.unique(owners[beyond & held]).tolist())
        return AbstractValue(low, high, x.variance, x.bias, x.lineage)

    def find_open_slots(self, op: Op, x: AbstractValue) -> npt.NDArray[np.bool_] | None:
        """Slots in which the sign that this is a stage of is taken to be off; None: in none, whatever arguments are.

        Where the first stage is, those after it are. In slots that hold no element arguments are 0, and are within the
        gap; what they are off reaches no result.
        """
        gap = getattr(op.attrs["polynomial"], "gap", 0.0)
        if not gap or not self.with_functions:
            return None
        comparisons = _comparisons(op)
        if not comparisons:
            off = x.bias >= OPENED / 2
            self.bounds.is_vague |= bool(off.any())
            return off if self.comparisons_opened else None
        inside = (x.low < gap * (1.0 - KEPT)) & (x.high > -gap * (1.0 - KEPT))
        if inside.any():
            self.bounds.open.update(comparisons)
        return inside if comparisons & set(self.comparisons_opened) else None

    def apply_piecewise_linear(
        self, op: Op, polynomial: PiecewiseLinearComposition, x: AbstractValue, ends: tuple[float, float]
    ) -> AbstractValue | None:
        """A piecewise linear function by composed signs, of arguments between these ends, noise included.

        At every argument it is within its error of the function, whose slopes are known; its own slopes are far steeper
        beside the kinks, and say less. So an argument that is off by d moves it by at most the steepest slope times d,
        and by its error at both ends: from the function at the argument that is meant, by one error.
        """
        first, last = polynomial.covered
        wide = self.deviations * float(np.sqrt(np.max(x.variance) * self.chain.slots / _cipher(op.result).slots))
        ends = min(ends[0], float(x.low.min()) - wide), max(ends[1], float(x.high.max()) + wide)
        if ends[0] < first - TOLERANCE or ends[1] > last + TOLERANCE:
            self.leave((op,))
            return None
        kind, error, slope = _cipher(op.result), polynomial.error, polynomial.steepest
        largest = min(1.0, max(abs(ends[0]), abs(ends[1])))
        self.note(max(largest_terms(stage, 1.0) for stage in polynomial.stages), kind)
        self.note(add_up(map(abs, (*polynomial.weights, polynomial.slope, polynomial.constant))), kind)
        own = self.polynomial_noise(polynomial, _cipher(op.operands[0]), kind, largest)
        low, high = polynomial.bounds(x.low, x.high)
        off = (error if self.with_functions else 2.0 * error) + self.bound_smear(polynomial, x, kind)
        bounded = AbstractValue(low - error, high + error, slope**2 * x.variance, slope * x.bias + off, x.lineage)
        return self.add_noise(bounded, own**2)

    def only_noise(self, polynomial: PiecewiseLinearComposition, x: AbstractValue, kind: CipherType) -> AbstractValue:
        """The noise that noise of the argument leaves, wherever the argument lies."""
        self.bound_smear(polynomial, x, kind)
        low, high = polynomial.bounds(x.low, x.high)
        slope = polynomial.steepest
        return AbstractValue(low, high, slope**2 * x.variance, slope * x.bias, x.lineage)

    def bound_smear(self, polynomial: PiecewiseLinearComposition, x: AbstractValue, kind: CipherType) -> float:
        """The error beside a kink, to one side, by noise of the argument, beyond what is reserved for it.

        A narrow vector is the mean of its copies in all slots of the ring, each of which has noise of its own, larger
        by the root of their number. What is linear averages it out again, a kink does not.
        """
        copies = self.chain.slots / kind.slots
        if copies <= 1.0:
            return 0.0
        deviation = float(np.sqrt(np.max(x.variance) * copies))
        moved, reserved = SMEAR * add_up(map(abs, polynomial.weights)) * deviation, reserve_of(polynomial)
        self.bounds.short_bits = max(self.bounds.short_bits, ceil(log2(moved / reserved)))
        return max(0.0, moved - reserved)


def reserve_of(polynomial: PiecewiseLinearComposition) -> float:
    """The part of its error that noise of its argument may take."""
    return polynomial.error * SMEARED / (1.0 + SMEARED)


def _num_choices(op: Op) -> int:
    """The number of parts to choose from."""
    if op.name == "rlwe.encode_at":
        rows: int = op.attrs["rows"]
        return rows
    part = op.result if op.name == "rlwe.take_at" else op.operands[1]
    return _cipher(op.operands[0]).count // _cipher(part).count


def _by_number(op: Op, parts: list[Item], number: int) -> AbstractValue | None:
    """A part taken from an array, or put into it."""
    held = [part for part in parts if isinstance(part, AbstractValue)]
    if len(held) < len(parts):
        return None
    size = _cipher(op.result if op.name == "rlwe.take_at" else op.operands[1]).count
    first, whole = number * size, [arrays_of(part) for part in held]
    end = first + size
    if op.name == "rlwe.take_at":
        low, high, variance, bias = (v[first:end] for v in whole[0])
        return AbstractValue(low, high, variance, bias, held[0].lineage[first:end])
    low, high, variance, bias = (
        np.concatenate([v[:first], part, v[end:]]) for v, part in zip(whole[0], whole[1], strict=True)
    )
    return AbstractValue(
        low, high, variance, bias, (*held[0].lineage[:first], *held[1].lineage, *held[0].lineage[end:])
    )


def _join(a: Sequence[Item] | None, b: Sequence[Item]) -> list[Item]:
    """The unions of two lists of items, item by item."""
    if a is None:
        return list(b)
    return [
        either(x, y)
        if isinstance(x, AbstractValue) and isinstance(y, AbstractValue)
        else Span(min(x.low, y.low), max(x.high, y.high))
        if isinstance(x, Span) and isinstance(y, Span)
        else None
        for x, y in zip(a, b, strict=True)
    ]


def _widen(a: AbstractValue) -> AbstractValue:
    """A little more than a value may be, from sources that nobody knows."""
    span = 1e-6 * (a.high - a.low + a.size) + 1e-300
    return AbstractValue(a.low - span, a.high + span, a.variance * 1.1, a.bias * 1.1, (None,) * len(a.lineage))


def _cipher(value: Value) -> CipherType:
    assert isinstance(value.type, CipherType)
    return value.type


def _comparisons(op: Op) -> set[Comparison]:
    """Those that a polynomial is the first stage of."""
    gap: float = getattr(op.attrs["polynomial"], "gap", 0.0)
    return {Comparison(loc, gap) for loc, _ in op.loc.shares} if 0.0 < gap < 1.0 else set()


def _is_defined_in(value: Value, block: Block) -> bool:
    return (value.owner.block if isinstance(value.owner, Op) else value.owner) is block

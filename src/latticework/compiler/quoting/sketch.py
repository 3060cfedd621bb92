"""A program's cost by its layers alone: degrees from one sample, layouts by a narrow search, levels along a path.

It takes a second or two for what takes minutes to compile, and is off by a factor of two as a rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil, inf, log2, prod

from latticework.compiler.accuracy import SHARE
from latticework.compiler.accuracy.agreement import DegreeOptions
from latticework.compiler.accuracy.effects import with_error, with_polynomials
from latticework.compiler.accuracy.function_uses import FunctionUse, uses_of
from latticework.compiler.accuracy.goals import NearResults
from latticework.compiler.accuracy.guess import DepthGuess
from latticework.compiler.accuracy.levels import find_longest_path, least_levels
from latticework.compiler.array_programs import SampledProgram
from latticework.compiler.bootstrap_prices import bootstrap_seconds
from latticework.compiler.degree_options import choose_degree_options
from latticework.compiler.layout_choice import find_layouts, ring_degree_for, slots_needed, vector_costs
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.pass_order import AFFINE_PASSES, TENSOR_PASSES
from latticework.compiler.quoting.layer_costs import LayerCost, Place
from latticework.compiler.quoting.needed_keys import count_rotation_keys
from latticework.compiler.tabulating import tabulate
from latticework.errors import UserError
from latticework.frontend import calibrate
from latticework.frontend.calibration.softmax_choice import expand_softmax
from latticework.ir import Module, Op, Value, run_passes
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass
from latticework.plan.cost import CostModel
from latticework.plan.cost.client_cost import stored_bytes
from latticework.plan.parameters import ModulusChain, Need, TooDeepError, bootstrap_chain, select_chain
from latticework.report.quantities import duration
from latticework.report.quoted import SKETCHED, QuotedPrice
from latticework.tensor.layout.search import Decisions
from latticework.tensor.layout.tuning import LayoutTuning
from latticework.values.sums import add_up

SAMPLES = 4  # on which ranges are seen
POINTS = 1024  # of those, an argument's, to which a polynomial is drawn
GOAL_BITS = 5.0  # of functions, at which decisions stay as a rule
NEARER_BITS = 3.0  # by which results on data are nearer than errors of functions allow at worst
NARROW = LayoutTuning(beam=4, open_layouts=2, open_large=1, most_sent=4)
NOISE_BITS, HEADROOM_BITS = 16, 9  # of a usual program: its scale above the precision; of the lowest level
USUAL_SET = "A14"  # whose bootstraps are priced
RELINEARIZING, BOOTSTRAP_KEYS = 1, 60  # keys, beside those that rotate between layers
LINEAR_SHARE = 0.42  # of the time of layers without functions, that products with constants take
LINEAR = ("tensor.matmul", "tensor.conv2d", "tensor.conv_transpose2d", "tensor.sum_pool2d", "tensor.einsum")


@dataclass
class ProgramSketch:
    """A sampled program, to be priced at several precisions.

    costs  by which times are told
    """

    sampled: SampledProgram
    options: CompileOptions
    costs: CostModel

    @cached_property
    def module(self) -> Module:
        """The program, calibrated on a few samples."""
        samples, margin = self.sampled.samples[:SAMPLES], self.options.expert.margin
        assumed = self.sampled.data is None
        module = expand_softmax(tabulate(self.sampled.module, samples[0]), samples, assumed=assumed, margin=margin)
        module = module if assumed else calibrate(module, samples, margin=margin)
        for op in module.walk():
            if op.attrs.get("samples"):
                seen = op.attrs["samples"]
                op.attrs["samples"] = seen[:: ceil(len(seen) / POINTS)]
        return self._asked.choose(module, samples, [])[0] if self._asked.degree is not None else module

    @cached_property
    def _asked(self) -> DegreeOptions:
        """The wishes of the user about degrees of functions."""
        return choose_degree_options(self.options, self.sampled.stages, self.sampled.module)

    @cached_property
    def uses(self) -> list[FunctionUse]:
        """The functions that polynomials stand in for."""
        return list(uses_of(self.module))

    @cached_property
    def guess(self) -> DepthGuess | None:
        """The degrees that precisions take, seen on one sample."""
        return DepthGuess.of(self.module, self.uses, self.sampled.samples, SHARE) if self.uses else None

    def degrees(self, bits: float) -> list[int] | None:
        """Degree of every use; None if none does."""
        given = [use.given_degree for use in self.uses if use.given_degree is not None]
        if len(given) == len(self.uses):
            return given
        return [] if self.guess is None else self.guess.degrees(min(bits, self._goal_bits))

    @cached_property
    def _goal_bits(self) -> float:
        """Bits of functions at which what was asked of results is reached; infinite if nothing was."""
        goal, guess = self._asked.goal, self.guess
        if goal is None or guess is None:
            return inf
        if not isinstance(goal, NearResults):
            return GOAL_BITS
        largest = float(max(guess.magnitudes, default=0.0))
        return max(GOAL_BITS, log2(max(largest, goal.asked) / goal.asked) - NEARER_BITS)

    def more_levels(self, bits: float, others: float) -> int | None:
        """Levels that functions take more at another precision; None if no degrees are so precise."""
        degrees = self.degrees(bits), self.degrees(others)
        if degrees[0] is None or degrees[1] is None:
            return None
        if degrees[0] == degrees[1] or self.guess is None:
            return 0
        return self.guess.levels(degrees[1]) - self.guess.levels(degrees[0])

    def glance(self, bits: float) -> tuple[QuotedPrice, dict[Place, LayerCost]] | None:
        """The levels that functions take at least, and their bootstraps, before any polynomial is fitted; layers by
        their levels. None if no degrees are so precise."""
        degrees = self.degrees(bits)
        if degrees is None or not self.uses:
            return None
        levels = least_levels(self.module, dict(zip((use.op for use in self.uses), degrees, strict=True)))
        layers: dict[Place, LayerCost] = {}
        for use, degree in zip(self.uses, degrees, strict=True):
            cost = layers.setdefault(place_of(use.op), LayerCost())
            cost.levels += degree.bit_length()
            cost.seconds = float(cost.levels)
        self._note_functions(layers)
        chain, refreshes = self._chain(bits, levels, slots_needed(self.module))
        if not refreshes:
            return QuotedPrice(bits, SKETCHED, levels, 0, chain.ring_degree), layers
        number = refreshes * _widest(self.module, chain.slots)
        seconds = number * bootstrap_seconds(self.costs, chain, chain.slots, chain.main.top - chain.floor, real=True)
        said = (
            f"it spends at least {levels} levels, more than a ring holds, so it bootstraps, for "
            f"{duration(seconds)} in all at least; compiling it may search for minutes"
        )
        return QuotedPrice(bits, SKETCHED, levels, number, chain.ring_degree, seconds, problem=said), layers

    def price(self, bits: float) -> tuple[QuotedPrice, dict[Place, LayerCost]]:
        """The price at a precision, and what it is made of."""
        degrees = self.degrees(bits)
        if degrees is None:
            return QuotedPrice(bits, SKETCHED, problem="no degree up to 1023 is so precise; ask for fewer bits"), {}
        pairs = zip(self.uses, degrees, strict=True)
        polynomials = [with_error(use.polynomial(degree), use.error(degree)) for use, degree in pairs]
        module = with_polynomials(self.module, polynomials) if self.uses else self.module
        module = run_passes(run_passes(module, TENSOR_PASSES), AFFINE_PASSES)
        levels, by_line = count_levels(module)
        if levels > 10_000:
            return QuotedPrice(bits, SKETCHED, levels, problem="it spends more levels than can be bootstrapped"), {}
        needed = slots_needed(module)
        chain, refreshes = self._chain(bits, levels, needed)
        width = min(needed, chain.slots)
        depth = min(levels, chain.main.top)
        prices = vector_costs(self.costs, chain.ring_degree, depth, float("inf"), self.options.techniques)
        found = find_layouts(module, width, prices, self.options.techniques, tuning=NARROW)
        levels = max(levels, (levels + min((each.levels for each in found.pareto), default=levels) + 1) // 2)
        chain, refreshes = self._chain(bits, levels, needed)  # maps that are not merged, and masks, take some too
        layers = self._layers(found, by_line)
        linear = add_up(cost.seconds for cost in layers.values() if not cost.functions)
        number = refreshes * _widest(module, chain.slots)
        refreshing = number * bootstrap_seconds(self.costs, chain, chain.slots, depth, real=True) if number else 0.0
        rows = len(chain.primes) + len(chain.special)
        key = round(len(chain.digits) * stored_bytes(chain, chain.main.top, 0, 1) * rows / len(chain.primes))
        keys = count_rotation_keys(module, found, chain.ring_degree) + RELINEARIZING
        keys += BOOTSTRAP_KEYS if refreshes else 0
        product = 2 * depth * self.costs.unit_seconds("plain_mac", chain.ring_degree)
        constants = round(LINEAR_SHARE * linear / product) * depth * 8 * chain.ring_degree if product else 0
        resident = round(2.6 * keys * key)  # words for bits, and the half that a seed stands for
        price = QuotedPrice(
            bits, SKETCHED, levels, number, chain.ring_degree, found.seconds + refreshing, resident + constants,
            keys * key,
        )  # fmt: skip
        return price, layers

    def _chain(self, bits: float, levels: int, needed: int) -> tuple[ModulusChain, int]:
        """A chain of a usual scale, and how often one path bootstraps on it.

        needed  slots of the largest tensor; vectors are as long, if a usual ring of so many levels has them
        """
        wanted = self.options.parameters
        slots = min(needed, (wanted.ring_degree or ring_degree_for(levels)) // 2)
        need = Need(levels, slots, ceil(bits) + NOISE_BITS, HEADROOM_BITS)
        try:
            chain = select_chain(
                need, ring_degree=wanted.ring_degree, security_bits=wanted.security_bits, insecure=wanted.insecure
            )
        except (TooDeepError, UserError):
            chain = bootstrap_chain(self.options.chosen_set or USUAL_SET)
            return chain, max(1, ceil(levels / (chain.main.top - chain.floor)) - 1)
        return chain, 0

    def _layers(self, found: Decisions, by_line: Mapping[Place, int]) -> dict[Place, LayerCost]:
        """The costs of layers, by the layouts that were found."""
        costs: dict[Place, LayerCost] = {}
        for what, taken in found.taken.items():
            if isinstance(what, Op):
                cost = costs.setdefault(place_of(what), LayerCost())
                cost.seconds += taken.seconds + add_up(move.seconds for move in taken.moves)
        for place, levels in by_line.items():
            costs.setdefault(place, LayerCost()).levels = levels
        self._note_functions(costs)
        return costs

    def _note_functions(self, costs: dict[Place, LayerCost]) -> None:
        """Say which functions layers have."""
        for use in self.uses:
            cost = costs.setdefault(place_of(use.op), LayerCost())
            cost.functions.append(use.function.name)
            cost.has_kinks |= use.function.pieces is not None or bool(use.function.gap)


def place_of(op: Op) -> Place:
    """The line of an operation."""
    name = str(op.loc.file).replace(chr(92), "/").rsplit("/", 1)[-1]
    return f"{name}:{op.loc.line}", op.loc.text.strip()


def count_levels(module: Module) -> tuple[int, dict[Place, int]]:
    """Levels on the longest path, and what each line has of it; linear maps that follow one another take one."""
    path = find_longest_path(module, _own_costs)
    by_line: dict[Place, int] = {}
    for op, paid in path.ops:
        by_line[place_of(op)] = by_line.get(place_of(op), 0) + paid
    return path.levels, by_line


def _own_costs(op: Op, secret: Sequence[Value]) -> tuple[int, bool]:
    """Levels that an operation spends as a rule, and whether it is a linear map."""
    if op.name == "tensor.polynomial":
        return int(op.attrs["polynomial"].depth), False
    if op.name == "tensor.prod":
        return max(1, prod(op.operands[0].type.shape) - 1).bit_length(), False  # type: ignore[attr-defined]
    if len(secret) > 1 and op.name in ("tensor.mul", *LINEAR):
        return 1, False
    is_map = len(secret) == 1 and (op.name in LINEAR or (op.name == "tensor.mul" and _is_array(op.operands)))
    return int(is_map), is_map


def _is_array(operands: Sequence[Value]) -> bool:
    """Whether what is public of some operands has several elements."""
    kinds = [value.type for value in operands if not value.is_secret]
    return any(isinstance(kind, TensorType) and prod(kind.shape) > 1 for kind in kinds)


def _widest(module: Module, slots: int) -> int:
    """Ciphertexts that a bootstrap between layers takes: those of the middle one of arguments of functions."""
    sizes = sorted(
        ceil(prod(op.operands[0].type.shape) / slots)  # type: ignore[attr-defined]
        for op in module.walk()
        if op.name in ("tensor.polynomial", "tensor.apply") and op.operands[0].is_secret
    )
    return sizes[len(sizes) // 2] if sizes else 1

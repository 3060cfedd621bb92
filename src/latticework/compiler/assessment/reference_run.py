"""Reference runs of a compiled program on cleartext arrays, each function exact or as its polynomial."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy import StandIn
from latticework.ir import Module, Op, Value, interpret
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.polynomial import POLYNOMIAL
from latticework.values.packing.channel_square import ChannelSquare, Parabolas
from latticework.values.packing.packed_constants import ChannelPolynomial

Array = npt.NDArray[Any]
Values = dict[int, list[Array]]  # by position, in the order in which they are computed
OnArgument = Callable[[int, Array], None]
Meaning = Callable[[list[Array]], list[Array]]


@dataclass(frozen=True)
class LocatedFunction:
    """A function of the program, and the operations that compute it.

    number  among the program's functions
    """

    number: int
    stand_in: StandIn
    ops: tuple[Op, ...]

    def exact(self, x: Array) -> Array:
        """The function itself; NaN or infinite where it has no value."""
        with np.errstate(all="ignore"):
            return np.asarray(self.stand_in.use.function.reference(x), dtype=np.float64)

    @property
    def channels(self) -> int | None:
        """Number of channels with a polynomial each; None: there is one for all."""
        first = self.stand_in.stages[0]
        return len(first.table) if isinstance(first, ChannelPolynomial) else None

    def distance_outside(self, x: Array) -> Array:
        """Return how far arguments are outside of the polynomial's interval; 0 or less inside."""
        first = self.stand_in.stages[0]
        low, high = first.ends() if isinstance(first, ChannelPolynomial) else self.stand_in.use.interval
        return np.maximum(low - x, x - high)

    def approximate(self, x: Array) -> Array:
        """Its polynomials."""
        for stage in self.stand_in.stages:
            x = stage(x)
        return x


class ReferenceRun:
    """The module of a plan on cleartext arrays, with a choice between exact functions and polynomials.

    positions  of values that plans know, in the order in which they are computed
    functions  in program order; two that are one and the same after compilation are one
    """

    def __init__(self, module: Module, positions: Mapping[Value, int], stand_ins: Sequence[StandIn]) -> None:
        self.module = module
        self.functions = _locate_functions(module, stand_ins)
        inner = {op.result for each in self.functions for op in each.ops[:-1]}  # between polynomials of one function
        inputs = [value for value in module.inputs if value in positions]
        others = [value for value in positions if value not in inputs and value not in inner]
        self.positions = {value: positions[value] for value in (*inputs, *others)}

    def order(self) -> list[Value]:
        """All values of the module, inputs first, as they are computed."""
        return [*self.module.inputs, *(value for op in self.module.walk() for value in op.results)]

    def run(
        self,
        inputs: Mapping[str, Any],
        *,
        exact: bool | Collection[int] = True,
        on_argument: OnArgument | None = None,
        held: Mapping[Value, Sequence[Array]] = {},
    ) -> tuple[list[Array], Values]:
        """Outputs, and all values that have a position.

        exact        all functions are, none, or those of these numbers
        on_argument  called with (number of a function, what it is applied to)
        held         values that are these, each time they are computed, instead of what the program makes of others
        """
        instead: dict[Op, Meaning] = {}
        for number, each in enumerate(self.functions):
            is_exact = exact if isinstance(exact, bool) else number in exact
            instead |= _function_semantics(number, each, is_exact, on_argument)
        given = dict(inputs)
        for value, arrays in held.items():
            if isinstance(value.owner, Op):
                instead[value.owner] = _semantics_giving(arrays)
            else:
                given[self.module.input_names[self.module.inputs.index(value)]] = arrays[0]
        values: Values = {}

        def note(value: Value, array: Array) -> None:
            if value in self.positions:
                values.setdefault(self.positions[value], []).append(np.asarray(array, dtype=np.float64))

        with np.errstate(all="ignore"):
            return interpret(self.module, given, on_value=note, instead=instead), values


def _semantics_giving(arrays: Sequence[Array]) -> Meaning:
    """Return semantics that give these arrays, one at each call."""
    left = iter(arrays)
    return lambda _: [next(left)]


def _function_semantics(
    number: int, located: LocatedFunction, is_exact: bool, on_argument: OnArgument | None
) -> dict[Op, Meaning]:
    """Return semantics of a function's operations: the last one gives its value, the first one gets its argument."""
    argument: list[Array] = []

    def meaning(place: int, op: Op) -> Meaning:
        polynomial = op.attrs["polynomial"]
        square = polynomial if isinstance(polynomial, ChannelSquare) else None

        def apply(operands: list[Array]) -> list[Array]:
            if place == 0:
                argument[:] = operands if square is None else [square.function_arguments(operands[0])]
                if on_argument is not None:
                    on_argument(number, argument[0])
            if is_exact and place == len(located.ops) - 1:
                value = located.exact(argument[0])
                return [value if square is None else square.from_values(value)]
            return [polynomial(operands[0])]

        return apply

    return {op: meaning(place, op) for place, op in enumerate(located.ops)}


def _locate_functions(module: Module, stand_ins: Sequence[StandIn]) -> list[LocatedFunction]:
    """The functions with their operations: of equal polynomials those of the same line, else the next in order."""
    left = [op for op in module.walk() if op.spec is POLYNOMIAL.spec]
    ops_of: dict[int, tuple[Op, ...]] = {}
    for has_line in (True, False):
        for number, each in enumerate(stand_ins):
            ops = () if number in ops_of else _chain(left, each, has_line=has_line)
            if ops:
                ops_of[number] = ops
                left = [op for op in left if op not in ops]
    return [LocatedFunction(number, stand_ins[number], ops_of[number]) for number in sorted(ops_of)]


def _chain(left: Sequence[Op], stand_in: StandIn, *, has_line: bool) -> tuple[Op, ...]:
    ops: list[Op] = []
    for stage in stand_in.stages:
        wanted = stage.square() if isinstance(stage, Parabolas) else stage
        fits = (
            op
            for op in left
            if op not in ops and op.attrs["polynomial"] == wanted and (op.loc == stand_in.use.op.loc or not has_line)
        )
        op = next(fits, None)
        if op is None:
            return ()
        ops.append(op)
    return tuple(ops)

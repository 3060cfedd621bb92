"""Circuits: ordinary functions on numbers, callable as such, and traced into single operations."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from latticework.errors import DtypeError, RangeError, ShapeError, TraceError, UserError
from latticework.errors.escaping import plain_text
from latticework.errors.rounded_numbers import write_value
from latticework.frontend.circuits.circuit_inputs import OF_CIRCUITS, Input, Shared, share_inputs
from latticework.frontend.circuits.integers.binary_digits import BinaryDigits
from latticework.frontend.circuits.integers.bit_vectors import Word
from latticework.frontend.circuits.integers.integer_arithmetic import Arithmetic
from latticework.frontend.circuits.integers.operations import IntegerOperators
from latticework.frontend.circuits.integers.wide_integers import (
    MOST_PUBLIC,
    TOO_LARGE,
    SumsAndProductsAlone,
    whole_ends,
)
from latticework.frontend.programs.array_program import need_function, weights_of
from latticework.frontend.recording.annotations import Parameter, parameters_of
from latticework.frontend.recording.circuit_values import MAX_OPERATIONS, CircuitTracer, Number
from latticework.frontend.recording.facts import Facts
from latticework.functions.approximation.intervals import Interval
from latticework.ir.core import Value
from latticework.ir.dialects import loop_dialect, scalar_dialect
from latticework.ir.dialects.scalar_dialect import INTEGER, GroupType
from latticework.ir.lines import definition_loc, user_loc
from latticework.ir.location import Loc, Origin
from latticework.ir.module import Module
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.arguments import MAX_NESTING, Argument, Branch, Result
from latticework.plan.schema.circuit_schedule import ScalarCounts
from latticework.values.inputs.foreign_arrays import find_loss, in_numpy, is_tensor, own_copy, with_dense_rows


class Circuit:
    """A function on numbers that can be compiled to run on encrypted ones.

    Called with plain numbers it computes in plain Python what the compiled circuit computes; inside another circuit
    it becomes part of that.

    function    the user's own
    parameters  in the order of its signature
    loc         its `def` line
    is_exact    whether it computes on integers alone, so that no scheme of real numbers takes it
    """

    is_exact = False

    def __init__(self, function: Callable[..., Any], local_names: Mapping[str, Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = function.__name__
        self.signature = inspect.signature(function)
        self.loc: Loc = definition_loc(function.__code__)
        self.parameters: tuple[Parameter, ...] = parameters_of(function, local_names or {}, OF_CIRCUITS)
        self.shared: tuple[Shared, ...] = tuple(share_inputs(self.name, self.inputs, self.loc))

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The parameters that are encrypted."""
        return tuple(p for p in self.parameters if p.kind is not None and p.kind.secret)

    @property
    def weights(self) -> tuple[Parameter, ...]:
        """The parameters that are public and given to compile."""
        return tuple(p for p in self.parameters if p.kind is None or not p.kind.secret)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function itself, on exact integers where it is given integers; inputs are checked."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for parameter in self.parameters:
            if parameter.kind is None:
                weight = own_copy(bound.arguments[parameter.name])
                bound.arguments[parameter.name] = in_numpy(weight) if is_tensor(weight) else weight
            elif parameter.name in bound.arguments:
                bound.arguments[parameter.name] = self.plain_input(parameter, bound.arguments[parameter.name])
        return self.function(*bound.args, **bound.kwargs)

    def plain_input(self, parameter: Parameter, given: Any) -> Any:
        """A number, or an array of numbers, for one annotated parameter: Python integers or float64.

        raises  ShapeError or DtypeError for what does not fit
        """
        where = f"circuit {self.name}, input {parameter.name}"
        given = with_dense_rows(given, where) if parameter.kind.secret else given
        lost = find_loss(given)
        if lost:
            raise DtypeError(f"{where} is {lost}", at=user_loc())
        array = np.asarray(in_numpy(given), dtype=object)
        if array.shape != parameter.kind.shape:
            raise ShapeError(f"{where} has shape {array.shape}, declared is {parameter.kind.shape}", at=user_loc())
        numbers = [n.item() if isinstance(n, np.generic) else n for n in array.reshape(-1)]
        wrong = [n for n in numbers if not isinstance(n, int | float | Number)]
        if wrong:
            raise DtypeError(f"{where} holds a {type(wrong[0]).__name__}; give whole or real numbers", at=user_loc())
        most = (1 << parameter.kind.bits) - 1
        outside = [n for n in numbers if parameter.kind.bits and not isinstance(n, Number) and not 0 <= n <= most]
        if outside:
            raise RangeError(
                f"{where} holds {write_value(outside[0])}; lw.bits({parameter.kind.bits}) are 0 to {most}",
                at=user_loc(),
            )
        if not parameter.kind.shape:
            return int(numbers[0]) if isinstance(numbers[0], bool) else numbers[0]
        is_real = all(isinstance(n, float) for n in numbers)
        made: np.ndarray[Any, Any] = np.empty(len(numbers), dtype=np.float64 if is_real else object)
        made[:] = [int(n) if isinstance(n, bool) else n for n in numbers]
        return made.reshape(parameter.kind.shape)

    def __repr__(self) -> str:
        return plain_text(f"<circuit {self.name}{self.signature} at {self.loc}>")


def circuit(function: Callable[..., Any] | None = None) -> Circuit:
    """Decorator: make a function on numbers a circuit.

    Parameters annotated lw.scalar(), lw.vector(n) or lw.matrix(r, c) are encrypted inputs, all others are public and
    given as weights= when the circuit is compiled.
    raises  TraceError unless decorating a function: it takes no options
    """
    return Circuit(need_function("lw.circuit", function), sys._getframe(1).f_locals)


@dataclass(frozen=True)
class TracedCircuit:
    """A circuit as single operations.

    module     scalar IR: inputs are groups, outputs are numbers
    arguments  which of the groups' elements each of the user's inputs is
    results    which of the outputs each of the user's results is made of
    written    operations as the function states them
    ranges     of integers: between what every output lies, where inputs without a declared range are taken as -1 to 1
    accepted   the same for all that clients accept, who take any residue where no range is declared
    is_modular whether results are right modulo the plaintext modulus that it was traced for alone
    """

    module: Module
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    written: ScalarCounts
    ranges: tuple[Interval, ...] = ()
    accepted: tuple[Interval, ...] = ()
    is_modular: bool = False


def trace_circuit(
    circuit: Circuit,
    weights: Any = (),
    *,
    dtype: str = INTEGER,
    share: bool = True,
    arithmetic: Arithmetic | None = None,
    integer_bits: int | None = None,
    max_operations: int = MAX_OPERATIONS,
) -> TracedCircuit:
    """Run a circuit once on symbols.

    weights  in the order of the public parameters, or a dictionary by name
    dtype    "integer" or "float64"
    share    whether equal computations are recorded once
    arithmetic  of integers: the modulus, without which they are neither compared nor taken apart into bits
    integer_bits  of integers that are computed modulo several primes: of inputs that declare no range
    raises   TraceError and its kinds, at the user's line
    """
    module = Module()
    tracer = CircuitTracer(module, circuit.name, dtype, share=share, max_operations=max_operations)
    if arithmetic is not None:
        tracer.operations = IntegerOperators(tracer, arithmetic)
        tracer.facts = Facts(arithmetic.modulus // 2)
    if integer_bits is not None:
        tracer.operations = SumsAndProductsAlone(integer_bits)
        tracer.most_public, tracer.too_large = MOST_PUBLIC, TOO_LARGE
    given: dict[str, Any] = dict(weights_of(circuit, weights, "circuit", "lw.vector(length)"))
    for parameter in circuit.weights:
        given[parameter.name] = own_copy(given[parameter.name])
        if is_tensor(given[parameter.name]):
            given[parameter.name] = in_numpy(given[parameter.name])
        if parameter.kind is not None:
            given[parameter.name] = circuit.plain_input(parameter, given[parameter.name])
    arguments: list[Argument] = []
    for number, shared in enumerate(circuit.shared):
        kind = GroupType(shared.size, dtype, shared.packing, shared.lanes, True)
        group = module.body.add_arg(kind, Origin(shared.name, circuit.loc))
        module.input_names.append(shared.name)
        first = 0
        for p in shared.members:
            own: Input = p.kind
            elements = tuple(range(first, first + own.size))
            link = own.source.link if own.source is not None else None
            ends = () if integer_bits is None else whole_ends(circuit.name, p, integer_bits, circuit.loc)
            low, high = map(float, ends) if ends else (own.low, own.high)
            arguments.append(Argument(p.name, own.shape, number, elements, low, high, link, own.bits, ends))
            first += own.size
            given[p.name] = _array(tracer, circuit, p, group, elements, ends)
    bound = circuit.signature.bind_partial()
    bound.arguments.update({p.name: given[p.name] for p in circuit.parameters})
    try:
        with tracer.faults.watch():
            returned = circuit.function(*bound.args, **bound.kwargs)
        results, outputs = _results(circuit, tracer, returned)
    finally:
        tracer.active = False
    tracer._builder.create(loop_dialect.YIELD, outputs, loc=circuit.loc)
    module.outputs = [f"{r.name}[{i}]" if r.shape else r.name for r in results for i in range(len(r.elements))]
    order = {p.name: i for i, p in enumerate(circuit.parameters)}
    facts = [tracer.facts[value] for value in outputs] if dtype == INTEGER else []
    ranges, accepted = tuple(fact.assumed for fact in facts), tuple(fact.accepted for fact in facts)
    in_order = tuple(sorted(arguments, key=lambda a: order[a.name]))
    return TracedCircuit(module, in_order, tuple(results), tracer.written, ranges, accepted, tracer.is_modular)


def _array(
    tracer: CircuitTracer,
    circuit: Circuit,
    parameter: Parameter,
    group: Value,
    elements: tuple[int, ...],
    ends: tuple[int, ...],
) -> Any:
    """Make the argument of the function for one input: a number, or an array of numbers.

    ends  of its range, where they are more exact than those declared
    """
    own: Input = parameter.kind
    low, high = (0, 1) if own.bits else ends or (own.low, own.high)
    shape = (*own.shape, own.bits) if own.bits else own.shape
    made = np.empty(shape, dtype=object)
    for position, number in zip(np.ndindex(shape), elements, strict=True):
        op = tracer._builder.create(
            scalar_dialect.ELEMENT, [group], {"number": number}, loc=circuit.loc,
            origin=Origin(parameter.name, circuit.loc, None, position or None),
        )  # fmt: skip
        tracer.facts.declare(op.result, low, high)
        made[position] = Number(tracer, op.result)
    if own.bits:
        if tracer.dtype != INTEGER:
            raise TraceError(
                f"circuit {circuit.name}, input {parameter.name}: lw.bits({own.bits}) are whole numbers; compile with "
                'scheme="bfv"',
                at=circuit.loc,
            )
        made = _words(tracer, made)
    return made if own.shape else made[()]


def _words(tracer: CircuitTracer, digits: Any) -> Any:
    """Numbers from their digits along the last axis."""
    made = np.empty(digits.shape[:-1], dtype=object)
    for position in np.ndindex(made.shape):
        made[position] = Word(tracer, partial(BinaryDigits, tuple(digits[position])))
    return made


def _results(circuit: Circuit, tracer: CircuitTracer, returned: Any) -> tuple[list[Result], list[Value]]:
    """The arrays and numbers in what a function returned, and all their elements in order."""
    results: list[Result] = []
    outputs: list[Value] = []

    def visit(item: Any, name: str, path: tuple[Branch, ...]) -> None:
        if isinstance(item, Mapping):
            for i, (key, part) in enumerate(item.items()):
                visit(part, f"{name}.{key}" if name else str(key), (*path, Branch(str(key), i)))
            return
        if len(path) > MAX_NESTING:
            raise TraceError(f"circuit {circuit.name} returns more than {MAX_NESTING} levels of lists", at=circuit.loc)
        if _shape(item) is None:
            for i, part in enumerate(item):
                visit(part, f"{name or 'result'}{'_' if name[-1:].isdigit() else ''}{i}", (*path, Branch(None, i)))
            return
        array = np.asarray(item, dtype=object)
        first = len(outputs)
        for place, number in zip(np.ndindex(array.shape), array.reshape(-1), strict=True):
            where = f"{name or 'result'}[{', '.join(map(str, place))}]" if place else name or "result"
            if not isinstance(number, Number | int | float | np.bool_ | np.integer | np.floating):
                raise TraceError(f"circuit {circuit.name} returns {_unfit(where, number)}", at=circuit.loc)
            try:
                outputs.append(tracer.lift(number if isinstance(number, Number) else tracer.public(number)))
            except UserError as error:
                message = f"circuit {circuit.name} returns {where}: {error.message}"
                raise type(error)(message, at=circuit.loc) from None
        results.append(Result(name or "result", array.shape, path, tuple(range(first, len(outputs)))))

    visit(returned, "", ())
    names = [r.name for r in results]
    if not outputs:
        raise TraceError(f"circuit {circuit.name} returns nothing; return at least one number", at=circuit.loc)
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise TraceError(f"circuit {circuit.name} returns two results called {twice!r}; rename one", at=circuit.loc)
    return results, outputs


def _unfit(name: str, value: Any) -> str:
    """Describe a returned value that cannot be an output, and what to return instead."""
    if value is None:
        return f"None as {name}; return numbers computed from the inputs"
    return f"a {type(value).__name__} as {name}; return numbers, arrays and lists of them, or tuples and dictionaries"


def _shape(item: Any) -> tuple[int, ...] | None:
    """The shape of a returned number, array or list of them; None for what is no array, such as a ragged list."""
    if isinstance(item, tuple | Mapping):
        return None
    if not isinstance(item, list):
        return np.shape(item) if isinstance(item, np.ndarray) else ()
    shapes = {_shape(part) for part in item} or {()}
    part = shapes.pop()
    return None if shapes or part is None else (len(item), *part)

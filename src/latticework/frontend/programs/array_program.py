"""Programs: ordinary functions on arrays, callable as such, and traced into a module."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np

from latticework.errors import DtypeError, ShapeError, TraceError, UserError
from latticework.errors.escaping import plain_text
from latticework.frontend.programs import torch_calls
from latticework.frontend.programs.batching import call_in_batches
from latticework.frontend.programs.traced_arrays import TracedArray, wrap
from latticework.frontend.recording.annotations import Index, Parameter, Secret, parameters_of
from latticework.frontend.recording.indices import TracedIndex
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.subscripts import PublicArray
from latticework.frontend.recording.tracing import FunctionTracer, Traced, user_line
from latticework.ir.core import Value
from latticework.ir.dialects import loop_dialect
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.interpret import interpret
from latticework.ir.lines import definition_loc, user_loc
from latticework.ir.location import Loc, Origin
from latticework.ir.module import Module
from latticework.ir.types import INDEX
from latticework.plan.client_steps.stages import OwnerStages
from latticework.tensor.ops import trivial
from latticework.values.inputs.foreign_arrays import (
    as_array,
    find_loss,
    in_numpy,
    is_one_array,
    is_tensor,
    own_copy,
    say_one_row,
    with_dense_rows,
)


class Program:
    """A function on arrays that can be compiled to run on encrypted ones.

    Called with NumPy arrays it computes in NumPy what the compiled program computes encrypted, activations exact.

    function    the user's own
    parameters  in the order of its signature
    loc         its `def` line
    owner       what the owner of the data computes before encryption and after decryption, where the program says so
    scales_columns  whether columns of unlike ranges are brought to one range before encryption, unless told otherwise
    changes     what it computes in the place of what the user gave, because the user asked for it
    is_fitted   whether it was fitted on a table, whose columns have units and ranges of their own
    classes     of a classifier, in the order of its columns, by which labels are taken
    columns     names of the columns of what the owner gives, by input, where the program brings them
    is_exact    whether it computes on integers alone, so that no scheme of real numbers takes it
    """

    owner: OwnerStages | None = None
    scales_columns: bool = False
    changes: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    is_fitted: bool = False
    is_exact: bool = False
    columns: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def operator_at(self, _loc: Loc) -> str:
        """Return an imported model's name of what is computed at a location; "" of what the user wrote."""
        return ""

    def __init__(self, function: Callable[..., Any], local_names: Mapping[str, Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = function.__name__
        self.signature = inspect.signature(function)
        self.loc: Loc = definition_loc(function.__code__)
        self.parameters: tuple[Parameter, ...] = parameters_of(function, local_names or {})

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The parameters that are given at run time: secrets and indices."""
        return tuple(p for p in self.parameters if p.kind is not None)

    @property
    def weights(self) -> tuple[Parameter, ...]:
        """The parameters that are given to compile."""
        return tuple(p for p in self.parameters if p.kind is None)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function itself; inputs are checked against the declared shapes.

        Where it computes every row of its inputs alike and apart from the others, any number of rows may be given.
        """
        bound = self.signature.bind(*args, **kwargs)
        given = [p.name for p in self.inputs if p.name in bound.arguments]
        bound.arguments |= {n: with_dense_rows(bound.arguments[n], f"program {self.name}, input {n}") for n in given}
        if self._has_other_rows(bound.arguments):
            found = self._in_batches(bound.arguments)
            if found is not None:
                return found
        bound.apply_defaults()
        for parameter in self.inputs:
            bound.arguments[parameter.name] = self._plain_input(parameter, bound.arguments[parameter.name])
        for parameter in self.weights:
            bound.arguments[parameter.name] = own_copy(bound.arguments[parameter.name])
        try:
            return self.function(*bound.args, **bound.kwargs)
        except (TypeError, AttributeError) as error:
            traced = any(isinstance(value, Traced) for value in bound.arguments.values())
            of_tensors = any(is_tensor(bound.arguments[p.name]) for p in self.weights)
            if traced or not (of_tensors or torch_calls.wants_tensors(error)):
                raise
        return self._interpret(bound.arguments)

    def __repr__(self) -> str:
        return plain_text(f"<program {self.name}{self.signature} at {self.loc}>")

    def _has_other_rows(self, arguments: Mapping[str, Any]) -> bool:
        """Whether an input has as many axes as declared, of which the first is of another length."""
        for parameter in self.inputs:
            kind, given = parameter.kind, arguments.get(parameter.name)
            if isinstance(kind, Secret) and kind.shape and not isinstance(given, Traced) and not find_loss(given):
                with suppress(ValueError, TypeError):  # what it is, is told later
                    shape = np.shape(in_numpy(given))
                    if len(shape) == len(kind.shape) and shape[:1] != kind.shape[:1]:
                        return True
        return False

    def _in_batches(self, arguments: Mapping[str, Any]) -> Any | None:
        secrets = [p for p in self.inputs if isinstance(p.kind, Secret)]
        if any(isinstance(value, Traced) for value in arguments.values()) or any(not p.kind.shape for p in secrets):
            return None
        weights = {p.name: arguments[p.name] for p in self.weights if p.name in arguments}
        with suppress(UserError):
            module = trace(self, weights)
            given = {p.name: self._array(p, arguments[p.name]) for p in secrets}
            return call_in_batches(module, {**arguments, **given}, lambda parts: Program.__call__(self, **parts))
        return None

    def _interpret(self, arguments: Mapping[str, Any]) -> Any:
        """Compute the program by tracing it: for layers that take no arrays, but secrets."""
        module = trace(self, {p.name: arguments[p.name] for p in self.weights if p.name in arguments}, {
            p.name: arguments[p.name] for p in self.inputs if isinstance(p.kind, Secret)
        })  # fmt: skip
        found = interpret(module, [arguments[p.name] for p in self.inputs])
        if module.outputs == ["result"]:
            return found[0]
        numbered = module.outputs == [f"result{i}" for i in range(len(found))]
        return tuple(found) if numbered else dict(zip(module.outputs, found, strict=True))

    def _plain_input(self, parameter: Parameter, given: Any) -> Any:
        if isinstance(parameter.kind, Index):
            return given if isinstance(given, Traced) else _integer(self, parameter, given)
        array = given if isinstance(given, TracedArray) else self._array(parameter, given)
        assert isinstance(parameter.kind, Secret)
        check_shape(self, parameter, parameter.kind.shape or array.shape, array.shape, "the argument")
        return array

    def _array(self, parameter: Parameter, given: Any) -> Any:
        try:
            with user_line():
                return plain_array(given)
        except DtypeError as error:
            raise DtypeError(f"program {self.name}, input {parameter.name}: {error.message}", at=error.at) from None


def program(function: Callable[..., Any] | None = None) -> Program:
    """Decorator: make a function on arrays a program.

    Parameters annotated Secret[shape] are secret inputs, those annotated Index public run-time integers,
    all others public weights.
    raises  TraceError unless decorating a function: it takes no options
    """
    return Program(need_function("lw.program", function), sys._getframe(1).f_locals)


def need_function(decorator: str, function: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return the function that a decorator is given; TraceError if it is none."""
    if inspect.isfunction(function) or inspect.ismethod(function):
        return function
    argument = "no function" if function is None else repr(function)
    raise TraceError(
        f"{decorator} got {argument}; write @{decorator}, without parentheses, above a function defined with def",
        at=user_loc(),
    )


def trace(program: Program, weights: Any = (), example: Any = None) -> Module:
    """Run a program once on symbols; returns what it did as a module of the tensor and loop dialects.

    weights  in the order of the unannotated parameters, or a dictionary by name
    example  an array, arrays in order, or a dictionary by name: shapes of inputs declared without one;
             the shapes of the others are checked
    outputs  one value is named "result", several "result0", "result1"..., those of a dictionary by its keys
    """
    module = Module()
    tracer = FunctionTracer(module, program.name, wrap)
    arguments = {name: _subscriptable(own_copy(value)) for name, value in weights_of(program, weights).items()}
    examples = _examples(program, example)
    for parameter in program.inputs:
        value = module.body.add_arg(_type(program, parameter, examples), Origin(parameter.name, parameter.loc))
        module.input_names.append(parameter.name)
        arguments[parameter.name] = tracer.wrap(value)
    bound = program.signature.bind_partial()
    bound.arguments.update({p.name: arguments[p.name] for p in program.parameters})
    with tracer.active():
        with tracer.faults.watch():
            returned = program.function(*bound.args, **bound.kwargs)
        outputs = _outputs(program, tracer, returned)
        tracer.create(loop_dialect.YIELD, [value for _, value in outputs], {}, loc=program.loc)
    module.outputs = [name for name, _ in outputs]
    return module


def _subscriptable(weight: Any) -> Any:
    """A public argument as a run-time integer may subscript it, if it is an array of numbers."""
    return weight.view(PublicArray) if type(weight) is np.ndarray and weight.dtype.kind in "biuf" else weight


def check_shape(
    program: Program, parameter: Parameter, declared: tuple[int, ...], given: tuple[int, ...], what: str
) -> None:
    """ShapeError unless the two shapes of an input are the same."""
    if declared != given:
        hint = ""
        if int(np.prod(declared)) == int(np.prod(given)):
            one_row = say_one_row(given, declared)
            hint = f": reshape it to {declared}" + (f" ({one_row})" if one_row else "")
        elif len(given) == len(declared) and given[1:] == declared[1:]:
            hint = f": give {declared[0]} at a time"
        raise ShapeError(
            f"program {program.name}: {what} for {parameter.name} has shape {given}, declared is {declared}{hint}; "
            "or change the annotation",
            at=program.loc,
        )


def weights_of(program: Any, given: Any, what: str = "program", declared: str = "Secret[shape]") -> dict[str, Any]:
    """The public arguments by name.

    program   a program, or a circuit
    what      it is called in messages, and how its encrypted inputs are declared
    raises    TraceError unless each public parameter is given once
    """
    wanted = program.weights
    names = ", ".join(p.name for p in wanted) or "none"
    if is_one_array(given) and len(wanted) == 1:
        given = (given,)
    if isinstance(given, Mapping):
        by_name = dict(given)
    elif isinstance(given, Sequence) and len(given) <= len(wanted):
        by_name = {p.name: value for p, value in zip(wanted, given, strict=False)}
    else:
        count = len(given) if isinstance(given, Sequence) else f"one {type(given).__name__}"
        raise TraceError(
            f"{what} {program.name} has {len(wanted)} weights ({names}), got {count}; "
            "give weights=(...) in that order, or by name as weights={...}",
            at=program.loc,
        )
    unknown = [name for name in by_name if all(name != p.name for p in wanted)]
    missing = [p.name for p in wanted if p.name not in by_name and p.default is inspect.Parameter.empty]
    if unknown or missing:
        raise TraceError(
            f"{what} {program.name} has {len(wanted)} weights ({names}); "
            f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}. "
            f"Give weights=(...) in that order, or annotate parameters that are encrypted inputs as {declared}",
            at=program.loc,
        )
    for name, value in by_name.items():
        lost = find_loss(value)
        if lost:
            raise DtypeError(f"{what} {program.name}: the weight {name} is {lost}", at=program.loc)
    return {p.name: by_name.get(p.name, p.default) for p in wanted}


def _examples(program: Program, example: Any) -> dict[str, Any]:
    if example is None:
        return {}
    names = [p.name for p in program.inputs if isinstance(p.kind, Secret)]
    if isinstance(example, Mapping):
        unknown = [name for name in example if name not in {p.name for p in program.inputs}]
        if unknown:
            raise TraceError(
                f"program {program.name}: example names {', '.join(unknown)}; its inputs are {', '.join(names)}",
                at=program.loc,
            )
        return dict(example)
    given = list(example) if isinstance(example, tuple) else [example]
    if len(given) != len(names):
        raise TraceError(
            f"program {program.name}: {len(given)} example arrays for {len(names)} secret inputs ({', '.join(names)}); "
            "give one for each, as a tuple or a dictionary",
            at=program.loc,
        )
    return dict(zip(names, given, strict=True))


def _type(program: Program, parameter: Parameter, examples: Mapping[str, Any]) -> Any:
    if isinstance(parameter.kind, Index):
        return INDEX
    assert isinstance(parameter.kind, Secret)
    shape = parameter.kind.shape
    if parameter.name in examples:
        given = _shape_of(program, parameter, examples[parameter.name])
        check_shape(program, parameter, given if shape is None else shape, given, "the example")
        shape = given
    if shape is None:
        raise TraceError(
            f"program {program.name}: the shape of {parameter.name} is not known; "
            f"annotate it as {parameter.name}: lw.Secret[1, 64], or give example= to compile",
            at=program.loc,
        )
    return TensorType(shape=tuple(int(n) for n in shape), dtype="float64", secret=True)


def _shape_of(program: Program, parameter: Parameter, example: Any) -> tuple[int, ...]:
    try:
        return as_array(example).shape
    except ValueError:
        raise ShapeError(
            f"program {program.name}: the example for {parameter.name} has rows of different lengths; give an array",
            at=program.loc,
        ) from None


def _outputs(program: Program, tracer: FunctionTracer, returned: Any) -> list[tuple[str, Value]]:
    if isinstance(returned, Mapping):
        named = [(str(name), value) for name, value in returned.items()]
    elif isinstance(returned, (tuple, list)):
        named = [(f"result{i}", value) for i, value in enumerate(returned)]
    else:
        named = [("result", returned)]
    outputs = []
    for name, value in named:
        if value is None or isinstance(value, (tuple, list, Mapping, TracedIndex)):
            raise TraceError(f"program {program.name} returns {_unfit(name, value)}", at=program.loc)
        with user_line(program.loc):
            try:
                outputs.append((name, trivial.trace(tracer, value)))
            except UserError as error:
                message = f"program {program.name} returns {name}: {error.message}"
                raise type(error)(message, at=program.loc) from None
    if not outputs:
        raise TraceError(f"program {program.name} returns nothing; return at least one array", at=program.loc)
    names = [name for name, _ in outputs]
    if len(set(names)) < len(names):
        raise TraceError(
            f"program {program.name} returns two outputs of the same name (of {', '.join(names)}); rename one",
            at=program.loc,
        )
    return outputs


def _unfit(name: str, value: Any) -> str:
    """Describe a returned value that cannot be an output, and what to return instead."""
    if value is None:
        return f"None as {name}; return arrays computed from the inputs"
    if isinstance(value, (tuple, list, Mapping)):
        return f"a {type(value).__name__} as {name}, inside another; return one flat tuple or dictionary of arrays"
    return f"a run-time index as {name}; return arrays, and the index from where it is known"


def _integer(program: Program, parameter: Parameter, given: Any) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise DtypeError(
            f"program {program.name}: {parameter.name} is an Index and takes an integer, got a {type(given).__name__}",
            at=user_loc(),
        ) from None

"""Kinds of a program's parameters: secret array, run-time integer, public weight.

To type checkers `lw.Secret` is `typing.Annotated`, and `lw.Index` is `int` (`latticework/__init__.py`): so that
`lw.Secret[lw.Array, 1, 64]` is a legal type, an array with a shape as its metadata. At run time both are classes.
"""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias, get_args, get_origin

import numpy as np
import numpy.typing as npt

from latticework.errors import ShapeError, TraceError
from latticework.ir.lines import definition_loc, user_loc
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass

Array: TypeAlias = npt.NDArray[np.float64]  # what programs compute with, to type checkers
Number: TypeAlias = Any  # what circuits compute with: integers or real numbers
Result: TypeAlias = Array | Any  # of a function of arrays or numbers: of an array it is one


@dataclass(frozen=True, slots=True)
class Secret:
    """Annotation of a secret input: Secret[1, 64], Secret[64], Secret[()] for a scalar; real numbers.

    With the type of array in front, Secret[lw.Array, 1, 64], type checkers understand it too.

    shape  None for plain `Secret`, or Secret[lw.Array]: taken from the example given to compile
    """

    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "shape", _extents(self.shape))

    def __class_getitem__(cls, given: Any) -> Secret:
        first, *rest = given if isinstance(given, tuple) and given else (given,)
        if not (isinstance(first, type) or get_origin(first) is not None):
            return cls(_extents(given))
        if not rest:
            return cls()
        return cls(_extents(rest[0] if len(rest) == 1 else tuple(rest)))


def _extents(shape: Any) -> tuple[int, ...]:
    given = shape if isinstance(shape, tuple) else (shape,)
    try:
        extents = tuple(0 if isinstance(n, bool) else operator.index(n) for n in given)
    except TypeError:
        extents = (0,)
    if any(n < 1 for n in extents):
        raise ShapeError(
            f"Secret[{shape!r}]: a shape is made of integers >= 1, as in Secret[1, 64] or Secret[()]", at=user_loc()
        )
    return extents


@dataclass(frozen=True, slots=True)
class Index:
    """Annotation of a public integer that is known only at run time, such as a number of iterations."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a program or a circuit.

    kind      Secret or Index of a program, an Input of a circuit, or None for a public weight given to compile
    default   inspect.Parameter.empty if there is none
    loc       the line of its annotation
    """

    name: str
    kind: Any
    default: Any
    loc: Loc


@dataclass(frozen=True, slots=True)
class Kinds:
    """The annotations that make a parameter an input.

    what   "program" or "circuit", for messages
    words  one of which stands in every such annotation
    of     the annotation's value -> the kind of input, or None if it is no input
    """

    what: str
    words: tuple[str, ...]
    of: Callable[[Any], Any]


def describe(annotation: Any, of: Callable[[Any], Any]) -> Any:
    """Describe an annotation, or one that stands in it behind a type: Annotated[type, annotation]."""
    found = of(annotation)
    if found is None and get_origin(annotation) is Annotated:
        return next((kind for part in get_args(annotation)[1:] if (kind := of(part)) is not None), None)
    return found


def _of_program(annotation: Any) -> Secret | Index | None:
    if annotation is Secret or annotation is Index:
        return Secret() if annotation is Secret else Index()
    return annotation if isinstance(annotation, (Secret, Index)) else None


OF_PROGRAMS = Kinds("program", ("Secret", "Index"), _of_program)


def parameters_of(
    function: Callable[..., Any], local_names: Mapping[str, Any], kinds: Kinds = OF_PROGRAMS
) -> tuple[Parameter, ...]:
    """The parameters of a user's function; annotations may be strings.

    local_names  variables of the scope the function is defined in, for string annotations
    """
    at = definition_loc(function.__code__)
    lines = _lines(function)
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TraceError(
                f"{kinds.what} {function.__name__}: parameter {parameter} takes any number of arguments; name each "
                "one, so that every input and weight is known",
                at=at,
            )
        kind = _kind(parameter, function, local_names, kinds)
        if kind is not None and parameter.default is not parameter.empty:
            raise TraceError(
                f"{kinds.what} {function.__name__}: input {parameter.name} has a default value; only weights may have "
                "one",
                at=at,
            )
        line = lines.get(parameter.name, at.line)
        found.append(Parameter(parameter.name, kind, parameter.default, at if line == at.line else Loc(at.file, line)))
    return tuple(found)


def _lines(function: Callable[..., Any]) -> dict[str, int]:
    """The lines of a function's parameters, which may be several; none where its source is not to be had."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    if not isinstance(tree, ast.FunctionDef):
        return {}
    given = (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
    return {arg.arg: function.__code__.co_firstlineno + arg.lineno - 1 for arg in given}


def _kind(
    parameter: inspect.Parameter, function: Callable[..., Any], local_names: Mapping[str, Any], kinds: Kinds
) -> Any:
    annotation = parameter.annotation
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, function.__globals__, dict(local_names))
        except NameError as error:
            if not any(word in annotation for word in kinds.words):
                return None
            raise TraceError(
                f"{kinds.what} {function.__name__}: the annotation {annotation!r} of {parameter.name} cannot be read: "
                f"{error}; names in it must be visible where the {kinds.what} is defined",
                at=definition_loc(function.__code__),
            ) from None
    return describe(annotation, kinds.of)

"""Public integers known only at run time: parameters annotated Index, and loop variables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from latticework.errors import TraceError
from latticework.errors.escaping import plain_text
from latticework.errors.remedies import REMEDIES
from latticework.frontend.recording.tracing import Traced, user_line
from latticework.ir.core import Block, OpSpec, Value
from latticework.ir.dialects import loop_dialect
from latticework.ir.lines import user_loc

_COUNTER = REMEDIES["counter"].outside


def _refuse(what: str, advice: str) -> Callable[..., NoReturn]:
    def refuse(self: TracedIndex, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise self.unknown_error(what, advice)

    return refuse


def _arithmetic(spec: OpSpec, *, swapped: bool = False) -> Callable[[TracedIndex, Any], Any]:
    def operation(self: TracedIndex, other: Any) -> Any:
        with user_line():
            left, right = self._tracer.value_of(self), _index_value(self, other)
            pair = (right, left) if swapped else (left, right)
            return self._tracer.wrap(self._tracer.create(spec, pair, {}).result)

    return operation


class TracedIndex(Traced):
    """A run-time integer in a program being traced: adds, subtracts, multiplies, and counts loops."""

    __slots__ = ()

    __add__ = __radd__ = _arithmetic(loop_dialect.INDEX_ADD)
    __sub__, __rsub__ = _arithmetic(loop_dialect.INDEX_SUB), _arithmetic(loop_dialect.INDEX_SUB, swapped=True)
    __mul__ = __rmul__ = _arithmetic(loop_dialect.INDEX_MUL)

    __index__ = __array__ = _refuse(
        "range(), a subscript of a list or a repeat count needs a Python integer",
        "count with lw.for_loop, or write a Python loop over a known count (it is unrolled); a public array is "
        "subscripted as lw.public(array)[i], or as a parameter of the program",
    )
    __int__ = __float__ = _refuse("a Python number is needed", "count with lw.for_loop")
    __bool__ = _refuse("if, while, and, or, not needs True or False", "do the same work in every iteration")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse(
        "a comparison needs a number", "do the same work in every iteration"
    )
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = _refuse(
        "this arithmetic needs a number", "indices can be added, subtracted and multiplied by integers"
    )
    __array_ufunc__ = _refuse("arithmetic with arrays needs a number", _COUNTER)
    __hash__ = _refuse("a set, or a key of a dictionary, needs a number", "use a list")

    @property
    def is_loop_variable(self) -> bool:
        """Whether it counts the iterations of a loop, unlike a parameter and what is computed."""
        owner = self._value.owner
        return isinstance(owner, Block) and owner is not self._tracer.module.body

    def unknown_error(self, what: str, advice: str) -> TraceError:
        """The error of needing its number; `what` needs it, `advice` does without."""
        if self.is_loop_variable:
            message = (
                f"the {self!r} is used as a number ({what}); it exists only while the loop runs, as its body is "
                "compiled once for all iterations"
            )
        else:
            message = (
                f"{what}, but {self!r} is a run-time index, whose number is not known when the program is compiled"
            )
        return self._tracer.faults.note(TraceError(f"{message}; {advice}", at=user_loc()))

    def __repr__(self) -> str:
        origin = self._value.origin
        kind = "loop variable" if self.is_loop_variable else "index"
        return f"{kind} {plain_text(origin.name)}" if origin is not None and origin.name else f"an {kind}"


def refuse_indices(operands: Sequence[Any]) -> None:
    """TraceError if one of the operands of array arithmetic is an index."""
    for operand in operands:
        if isinstance(operand, TracedIndex):
            raise operand.unknown_error("arithmetic with arrays needs a number", _COUNTER)


def _index_value(index: TracedIndex, other: Any) -> Value:
    """The value of the other operand; TraceError if it is not an integer."""
    if isinstance(other, TracedIndex):
        return index._tracer.value_of(other)
    try:
        number = None if isinstance(other, (bool, Traced)) else operator.index(other)
    except TypeError:
        number = None
    if number is None:
        kind = "secret array" if isinstance(other, Traced) else type(other).__name__
        raise TraceError(
            f"{index!r} is combined with a {kind}; an index takes part in integer arithmetic only. "
            f"To use it in array arithmetic {_COUNTER}"
        )
    return index._tracer.create(loop_dialect.INDEX_CONSTANT, (), {"value": number}).result

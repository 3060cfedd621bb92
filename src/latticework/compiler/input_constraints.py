"""Arguments of functions that clients can hold within their ranges: parts of an input, and sums of its elements.

In: a calibrated module and the functions that polynomials stand for.  Out: for each whose argument is a form, what the
client would check. What is a form is decided by operations: those that take, move, add up and subtract elements, and
public numbers that act on all elements alike: one factor of single elements, a number added, 1/n in a mean. Such a
number may be a weight, and weights stay at the server. So a constraint is on what is left without them, and its
interval is that of calibration, widened by a tenth times a power of two: as far as the range of the function allows.
Products with matrices are no forms, nor is what brings several inputs together, which may be encrypted apart.
Cost: an evaluation of the operations before the function for each element of the input, at most `MOST_SIZE`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.function_uses import FunctionUse, StandIn
from latticework.frontend.programs.batching import batch_of, row_axes
from latticework.ir import Module, Op, Value
from latticework.ir.interpret import evaluate
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.constraints import MOST_PLACES, Constraint, Element
from latticework.tensor.ops.add import ADD
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.broadcast_to import BROADCAST_TO
from latticework.tensor.ops.constant import CONSTANT
from latticework.tensor.ops.mul import MUL
from latticework.tensor.ops.neg import NEG
from latticework.tensor.ops.reshape import RESHAPE
from latticework.tensor.ops.roll import ROLL
from latticework.tensor.ops.slice import SLICE
from latticework.tensor.ops.sub import SUB
from latticework.tensor.ops.sum import SUM
from latticework.tensor.ops.take import TAKE
from latticework.tensor.ops.transpose import TRANSPOSE

Array = npt.NDArray[np.float64]

MOST_SIZE = 1024  # elements of an input, or of a row of it
INSET = 1e-5  # of a function's range, at each end: constants that bring it to [-1, 1] are off by 2^-20 or less
STEPS = range(10, -5, -1)  # margins are a tenth times 2 to one of these
TENTH = 0.0999  # so that it is within the range of a function that a tenth gave
_MOVES = {op.spec for op in (BROADCAST_TO, NEG, RESHAPE, ROLL, SLICE, SUM, TAKE, TRANSPOSE)}


@dataclass(frozen=True)
class CheckedForm:
    """An argument that a client can check.

    constraint      what it would
    scale, offset  what brings the elements of the constraint to the argument as it enters the polynomial, which is
                   close to the function where it is in [-1, 1]
    """

    constraint: Constraint
    scale: float
    offset: float

    def arguments(self, array: Array, shape: tuple[int, ...]) -> Array:
        """All arguments for an input of this shape, or several side by side."""
        size = prod(self.constraint.item_shape(shape))
        return np.asarray(self.scale * self.constraint.values(array.reshape(-1, size)) + self.offset).reshape(-1)


def find_forms(module: Module, stand_ins: Sequence[StandIn]) -> tuple[CheckedForm, ...]:
    """Those of all functions but steps, whose argument has to stay out of a gap as well."""
    forms = [_form(module, stand_in.use) for stand_in in stand_ins if not _is_split(stand_in)]
    return tuple(form for form in forms if form is not None)


def _is_split(stand_in: StandIn) -> bool:
    use = stand_in.use
    return bool(use.function.gap) or use.is_by_channel(stand_in.degree)


def _form(module: Module, use: FunctionUse) -> CheckedForm | None:
    argument = use.op.operands[0]
    walk = _FormWalk(module)
    factor = walk.factor(argument)
    if not factor or len(walk.inputs) != 1:
        return None
    (source,) = walk.inputs
    form = _matrix(module, argument, source)
    if form is None:
        return None
    matrix, offset, by_row = form
    elements = tuple(dict.fromkeys(_element(row) for row in matrix / factor if row.any()))
    if not 0 < sum(len(element.places) for element in elements) <= MOST_PLACES:
        return None
    if abs(factor) != 1.0 and any(len(element.places) > 1 for element in elements):
        return None  # as a product with a vector of equal weights is
    interval = _allowed_sums(use, factor, offset)
    if interval is None:
        return None
    low, high = use.interval
    name = module.input_names[module.inputs.index(source)]
    place = f"{Path(use.op.loc.file).name}:{use.op.loc.line}"
    constraint = Constraint(name, use.function.name, place, *interval, elements, by_row)
    return CheckedForm(constraint, 2.0 * factor / (high - low), (2.0 * offset - low - high) / (high - low))


class _FormWalk:
    """Goes from a value back to inputs.

    inputs  that it depends on
    """

    def __init__(self, module: Module) -> None:
        self.module, self.inputs = module, set[Value]()
        self._known: dict[Value, float | None] = {}

    def factor(self, value: Value) -> float | None:
        """Return the factor of the sums of elements that a value is, up to an added number; None if it is none."""
        waiting = [value]  # on no stack of calls: straight code may be thousands of operations deep
        while waiting:
            missing = [read for read in self._read(waiting[-1]) if read not in self._known]
            waiting += missing
            if not missing:
                found = waiting.pop()
                self._known[found] = self._find(found)
        return self._known[value]

    def _read(self, value: Value) -> Sequence[Value]:
        """Return the operands whose factors decide that of a value."""
        op = value.owner
        if not isinstance(op, Op) or value in self._known:
            return ()
        if op.spec in _MOVES:
            return op.operands[:1]
        sums = op.spec in (ADD.spec, SUB.spec, MUL.spec)
        return [operand for operand in op.operands if self.number(operand) is None] if sums else ()

    def _find(self, value: Value) -> float | None:
        op = value.owner
        if not isinstance(op, Op):
            if value not in self.module.inputs:
                return None
            self.inputs.add(value)
            return 1.0
        if op.spec in _MOVES:
            return self._known[op.operands[0]]
        if op.spec not in (ADD.spec, SUB.spec, MUL.spec):
            return None
        numbers = [self.number(operand) for operand in op.operands]
        secret = [operand for operand, number in zip(op.operands, numbers, strict=True) if number is None]
        factors = [self._known[operand] for operand in secret]
        public = [number for number in numbers if number is not None]
        if not factors or None in factors or len(set(factors)) > 1 or (op.spec is MUL.spec and not public):
            return None
        return factors[0] if op.spec is not MUL.spec or _is_mean(secret[0], public[0]) else factors[0] * public[0]  # type: ignore[operator]

    def number(self, value: Value) -> float | None:
        """A public number, the same for all elements."""
        op = value.owner
        if not isinstance(op, Op) or op.spec is not CONSTANT.spec:
            return None
        array = self.module.sources.get(op.attrs["source"])
        return float(array.flat[0]) if array is not None and array.size and np.all(array == array.flat[0]) else None


def _is_mean(value: Value, number: float) -> bool:
    """Whether this number makes a sum a mean."""
    op = value.owner
    if not isinstance(op, Op) or op.spec is not SUM.spec:
        return False
    shape = shape_of(op.operands[0])
    return bool(number == 1.0 / prod(shape[axis] for axis in op.attrs["axes"]))


def _matrix(module: Module, argument: Value, source: Value) -> tuple[Array, float, bool] | None:
    """Write an argument as an affine map of an input: factors (elements, size), a constant, and if all rows agree."""
    shape = shape_of(source)
    batch = batch_of(module)
    name = module.input_names[module.inputs.index(source)]
    axis = None
    if batch is not None and name in batch.inputs:
        axis = row_axes(module, batch.inputs).get(argument)
        if axis is None:
            return None
    size = prod(shape[axis is not None :])
    if size > MOST_SIZE:
        return None

    def at(place: int | None) -> Array:
        array = np.zeros(shape)
        if place is not None:
            array.reshape(-1)[place] = 1.0
        evaluated = _evaluate(argument, source, array, module.sources)
        return np.array(evaluated if axis is None else np.take(evaluated, 0, axis)).reshape(-1)

    nothing = at(None)
    if not nothing.size or np.ptp(nothing):
        return None
    return np.stack([at(place) - nothing for place in range(size)], axis=1), float(nothing[0]), axis is not None


def _evaluate(value: Value, source: Value, array: Array, sources: Mapping[str, Any]) -> Array:
    known: dict[Value, Array] = {source: array}

    waiting = [value]
    while waiting:
        op = waiting[-1].owner
        missing = [] if waiting[-1] in known or not isinstance(op, Op) else [v for v in op.operands if v not in known]
        waiting += missing
        if not missing:
            wanted = waiting.pop()
            if wanted not in known:
                assert isinstance(wanted.owner, Op)
                known[wanted] = evaluate(wanted.owner, [known[v] for v in wanted.owner.operands], sources)[0]
    return known[value]


def _element(row: Array) -> Element:
    places = np.flatnonzero(np.abs(row) > 1e-9)
    factors = row[places]
    near = np.rint(factors)
    factors = np.where(np.abs(factors - near) < 1e-9, near, factors)
    return Element(tuple(places.tolist()), () if np.all(factors == 1.0) else tuple(factors.tolist()))


def _allowed_sums(use: FunctionUse, factor: float, offset: float) -> tuple[float, float] | None:
    """The interval in which sums of elements may lie; None where that is not known."""
    low, high = use.interval
    inset = INSET * (high - low)
    held = low + inset, high - inset
    if abs(factor) == 1.0 and offset == 0.0:
        return held if factor > 0.0 else (-held[1], -held[0])
    seen = use.seen
    if seen is None:
        return None
    least, most = sorted((end - offset) / factor for end in seen)
    span = (most - least) or max(abs(most), 1.0)

    def fits(slack: float) -> bool:
        ends = [factor * end + offset for end in (least - slack, most + slack)]
        return held[0] <= min(ends) and max(ends) <= held[1]

    rooms: list[float] = [TENTH * 2.0**step * span for step in STEPS]
    return next(((least - slack, most + slack) for slack in (*rooms, 0.0) if fits(slack)), None)

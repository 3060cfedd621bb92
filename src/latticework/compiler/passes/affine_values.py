"""Values of a loop as affine functions of what is encrypted outside of it: offset + coefficients times elements read.

Carried out iteration by iteration on these functions in the place of numbers. Elements that a body computes alike are
lanes, of which one is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from latticework.ir import Module, Op, Value, evaluate
from latticework.ir.core import Block
from latticework.ir.types import INDEX
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.base import FloatArray, Shape, shape_of

MOST = 1 << 22  # coefficients of a value, and elements that a linear operation is tried on times its results
ALIKE = ("tensor.rows", "tensor.trivial")  # whose result is what they are given
ONE_BY_ONE = ("tensor.add", "tensor.sub", "tensor.neg", "tensor.mul")
LINEAR = (
    "tensor.matmul", "tensor.sum", "tensor.reshape", "tensor.transpose", "tensor.slice", "tensor.broadcast_to",
    "tensor.pad", "tensor.take", "tensor.roll", "tensor.cumsum", "tensor.conv2d", "tensor.conv_transpose2d",
    "tensor.sum_pool2d",
)  # fmt: skip


class NotAffineError(Exception):
    """A loop computes something else, or what is too large to be written out."""


@dataclass(frozen=True)
class AffineValue:
    """One value.

    offset        of its shape
    coefficients  (shape, elements read by the loop); None: it is public
    """

    offset: FloatArray
    coefficients: FloatArray | None = None


class Recurrence:
    """A loop carried out on affine values.

    lanes  the last axes, along which everything is computed alike; (): none are
    """

    def __init__(self, module: Module, lanes: Shape) -> None:
        self.module, self.lanes = module, lanes
        self.bases: dict[Value, slice] = {}
        self._inside: set[Block] = set()
        self._width = 0
        self._known: dict[Value, AffineValue | int] = {}
        self._tried: dict[tuple[Op, bytes], FloatArray] = {}
        self._stacks: dict[int, FloatArray] = {}  # made by this loop for itself alone, by their ids

    def results(self, loop: Op) -> list[AffineValue]:
        """Carry a loop out; return what it yields in the end.

        raises  NotAffineError
        """
        self._block = loop.regions[0].block
        self._inside = {region.block for op in _walk(loop) for region in op.regions}
        for value in _read_outside(loop, self._inside):
            self._find_outside(value)
        return self._run_loop(loop)

    def matrices(self, value: AffineValue) -> dict[Value, FloatArray]:
        """The matrix (elements of the value, elements read) for each value that is read, lanes apart."""
        if value.coefficients is None:
            return {}
        flat = value.coefficients.reshape(-1, self._width)
        return {base: np.ascontiguousarray(flat[:, place]) for base, place in self.bases.items()}

    # -- what lies outside -------------------------------------------------------------------

    def _find_outside(self, value: Value) -> None:
        """Make a value outside known: a public one by its numbers, another as elements that are read."""
        if value in self._known:
            return
        if value.type is INDEX:
            raise NotAffineError
        numbers = self._numbers_of(value)
        if numbers is not None:
            self._known[value] = AffineValue(self._one_lane(numbers))
            return
        base = value
        while isinstance(base.owner, Op) and base.owner.name in ALIKE:
            base = base.owner.operands[0]
        if base not in self.bases:
            size = prod(self._one_shape(shape_of(base)))
            self.bases[base] = slice(self._width, self._width + size)
            self._width += size
        self._known[value] = AffineValue(np.zeros(0))  # whose coefficients are as wide as all that is read

    def _numbers_of(self, value: Value) -> FloatArray | None:
        """The numbers of a public value outside; None where it is none, or made of several operations."""
        op = value.owner
        if not isinstance(op, Op):
            return None
        if op.name == "tensor.constant":
            return self.module.sources.get(op.attrs["source"])
        if op.name == "tensor.blank":
            return np.zeros(shape_of(value))
        return self._numbers_of(op.operands[0]) if op.name in ALIKE else None

    def _one_shape(self, shape: Shape) -> Shape:
        """A shape without lanes."""
        if not self.lanes:
            return shape
        if shape[-len(self.lanes) :] != self.lanes:
            raise NotAffineError
        return shape[: len(shape) - len(self.lanes)]

    def _one_lane(self, numbers: FloatArray) -> FloatArray:
        """Public numbers of one lane, if they are the same in all."""
        if not self.lanes or numbers.size == 1:
            return np.asarray(numbers, dtype=np.float64).reshape(() if self.lanes else numbers.shape)
        shape = self._one_shape(numbers.shape)
        columns = numbers.reshape(-1, prod(self.lanes))
        if not (columns == columns[:, :1]).all():
            raise NotAffineError
        return np.asarray(columns[:, 0], dtype=np.float64).reshape(shape)

    def _value(self, value: Value) -> AffineValue:
        found = self._known.get(value)
        if not isinstance(found, AffineValue):
            raise NotAffineError
        if found.offset.size:
            return found
        base = value
        while base not in self.bases:
            assert isinstance(base.owner, Op)
            base = base.owner.operands[0]
        place, shape = self.bases[base], self._one_shape(shape_of(base))
        self._check_size(prod(shape))
        coefficients = np.zeros((prod(shape), self._width))
        coefficients[:, place] = np.eye(prod(shape))
        self._known[value] = AffineValue(np.zeros(shape), coefficients.reshape(*shape, self._width))
        return self._value(value)

    def _check_size(self, elements: int) -> None:
        if elements * max(self._width, 1) > MOST:
            raise NotAffineError

    # -- what lies inside --------------------------------------------------------------------

    def _run_loop(self, loop: Op) -> list[AffineValue]:
        trips = loop.attrs.get("static_trip")
        if trips is None:
            raise NotAffineError
        block = loop.regions[0].block
        number, *arguments = block.args
        carried = [self._value(value) for value in loop.operands]
        for i in range(trips):
            self._known[number] = i
            self._known.update(zip(arguments, carried, strict=True))
            for op in block.ops:
                if op.spec.terminator:
                    carried = [self._value(value) for value in op.operands]
                    break
                self._step(op)
        return carried

    def _step(self, op: Op) -> None:
        if op.name == "loop.for":
            self._known.update(zip(op.results, self._run_loop(op), strict=True))
            return
        if op.name.startswith("loop.index_"):
            numbers = [self._number(value) for value in op.operands]
            self._known[op.result] = int(evaluate(op, [np.asarray(n) for n in numbers], {})[0])
            return
        self._known[op.result] = self._result(op)

    def _number(self, value: Value) -> int:
        found = self._known.get(value)
        if not isinstance(found, int):
            raise NotAffineError
        return found

    def _result(self, op: Op) -> AffineValue:
        match op.name:
            case "tensor.constant":
                return AffineValue(self._one_lane(self.module.sources[op.attrs["source"]]))
            case "tensor.blank":
                return AffineValue(np.zeros(self._one_shape(op.attrs["shape"])))
            case "tensor.row":
                return AffineValue(
                    self._one_lane(self.module.sources[op.attrs["source"]][self._number(op.operands[0])])
                )
            case "tensor.part":
                array, number = self._value(op.operands[0]), self._number(op.operands[1])
                rows = array.coefficients
                return AffineValue(array.offset[number], None if rows is None else rows[number])
            case "tensor.with_part":
                array, part = map(self._value, op.operands[:2])
                return self._with_part(op, array, part, self._number(op.operands[2]))
        operands = [self._value(value) for value in op.operands]
        if op.name in ALIKE:
            return operands[0]
        if op.name in ONE_BY_ONE:
            return self._one_by_one(op, operands)
        if op.name in LINEAR and not self.lanes:
            return self._linear(op, operands)
        raise NotAffineError

    def _with_part(self, op: Op, array: AffineValue, part: AffineValue, number: int) -> AffineValue:
        """The array with another part: written into where nothing else has it, or stacks would be copied every time."""
        offset = array.offset.copy()
        offset[number] = part.offset
        given = op.operands[0]
        alone = given.owner is self._block and len(given.uses) == len(op.result.uses) == 1
        if array.coefficients is None and part.coefficients is None:
            return AffineValue(offset)
        self._check_size(offset.size)
        if array.coefficients is None:
            rows = np.zeros((*offset.shape, self._width))
        elif alone and id(array.coefficients) in self._stacks:
            rows = array.coefficients
        else:
            rows = array.coefficients.copy()
        rows[number] = 0.0 if part.coefficients is None else part.coefficients
        if alone:
            self._stacks[id(rows)] = rows
        return AffineValue(offset, rows)

    def _one_by_one(self, op: Op, operands: Sequence[AffineValue]) -> AffineValue:
        first, *others = operands
        if op.name == "tensor.neg":
            return AffineValue(-first.offset, None if first.coefficients is None else -first.coefficients)
        (second,) = others
        self._check_size(max(first.offset.size, second.offset.size))
        a, b = first.coefficients, second.coefficients
        if op.name == "tensor.mul":
            if a is not None and b is not None:
                raise NotAffineError
            product = None if a is None else a * second.offset[..., None]
            product = product if b is None else b * first.offset[..., None]
            return AffineValue(first.offset * second.offset, product)
        sign = 1.0 if op.name == "tensor.add" else -1.0
        offset = first.offset + sign * second.offset
        if a is None and b is None:
            return AffineValue(offset)
        whole = np.zeros((*offset.shape, self._width))
        if a is not None:
            whole += a
        if b is not None:
            whole += sign * b
        return AffineValue(offset, whole)

    def _linear(self, op: Op, operands: Sequence[AffineValue]) -> AffineValue:
        """An operation that is linear in one operand, by what it makes of every element of that alone."""
        numbers = [operand.offset for operand in operands]
        offset = self._apply(op, numbers)
        places = [place for place, operand in enumerate(operands) if operand.coefficients is not None]
        if not places:
            return AffineValue(offset)
        if len(places) > 1:
            raise NotAffineError
        (place,) = places
        size, rows = numbers[place].size, operands[place].coefficients
        assert rows is not None
        self._check_size(offset.size)
        key = op, b"".join(number.tobytes() for other, number in enumerate(numbers) if other != place)
        if key not in self._tried:
            if size * offset.size > MOST:
                raise NotAffineError
            zeros = [np.zeros_like(number) if i == place else number for i, number in enumerate(numbers)]
            base = self._apply(op, zeros)
            columns = np.empty((offset.size, size))
            for element in range(size):
                zeros[place] = np.zeros_like(numbers[place])
                zeros[place].flat[element] = 1.0
                columns[:, element] = (self._apply(op, zeros) - base).reshape(-1)
            self._tried[key] = columns
        made = self._tried[key] @ rows.reshape(size, self._width)
        return AffineValue(offset, made.reshape(*offset.shape, self._width))

    def _apply(self, op: Op, numbers: Sequence[FloatArray]) -> FloatArray:
        return np.asarray(evaluate(op, list(numbers), self.module.sources)[0], dtype=np.float64)


def _walk(op: Op) -> list[Op]:
    """An operation and all that are nested in it."""
    return [op, *(inner for region in op.regions for each in region.block.ops for inner in _walk(each))]


def _read_outside(loop: Op, inside: set[Block]) -> list[Value]:
    """The values that a loop reads from outside, each once."""
    found: dict[Value, None] = {}
    for op in _walk(loop):
        for value in op.operands:
            block = value.owner if isinstance(value.owner, Block) else value.owner.block
            if block not in inside:
                found[value] = None
    return list(found)

"""fold-affine: products with public numbers next to a product with weights go into the weights, and spend no level.

In/out: tensor IR, same cleartext meaning.  c (W x + b) = (c W) x + c b  where nothing else reads W x + b, and
W (c x + d) = (W c) (x + d / c): batch normalisations before and after, scalers, gains. Reshapes, transpositions and
sums over windows may lie between, where the factor is moved across them. At this stage maps are as
large as they come; `merge-maps` merges what is small enough to be written out slot by slot. A factor that is one number
is left to `fold-splats`, which moves it wherever it ends up. Cost: O(weights).
Source: B. Jacob et al., Quantization and Training of Neural Networks (2018), 3.2, for batch normalisations.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from latticework.compiler.passes.linear_weights import FloatArray, Weighted, compact, find_weighted, shape_of
from latticework.ir import Builder, Module, Op, Pass, Value, evaluate, rebuild
from latticework.lazy_dataclass import dataclass

Mapping = dict[Value, Value]
SMALL = 2.0**-4  # a factor, of the largest
UNITS = 2.0**4  # by which columns of an input differ
LONGEST = 12  # operations between a factor and a product
SUMS = ("tensor.add", "tensor.sub")
MOVES = ("tensor.reshape", "tensor.transpose", "tensor.sum_pool2d")


def run(module: Module, _cost: object = None, *, whole: bool = False) -> Module:
    """The module with every factor folded that can be: first those of results, then those of operands.

    whole  factors that others read too stay where they are: folded for one reader, both values would be alive, where a
           bootstrap refreshes one
    """
    module = _Results(module).fold() or module
    return _Operands(module, whole).fold() or module


@dataclass(frozen=True)
class _Step:
    """One operation between a product with weights and a factor.

    number  what it adds or multiplies by, if it does either
    """

    op: Op
    secret: int
    number: FloatArray | None = None


class _Fold:
    """The part that both directions share: public numbers, and operations that a factor passes."""

    def __init__(self, module: Module) -> None:
        self.module = module.empty_like(module.body)  # whose sources may grow
        self.public: dict[Value, FloatArray] = {
            op.result: module.sources[op.attrs["source"]]
            for op in module.walk()
            if op.name == "tensor.constant" and op.attrs["source"] in module.sources
        }

    def step(self, value: Value) -> _Step | None:
        """The operation that made a value, if a factor can pass it."""
        op = value.owner
        if not isinstance(op, Op) or len(op.results) != 1 or not value.is_secret:
            return None
        if op.name in (*MOVES, "tensor.neg"):
            return _Step(op, 0)
        if op.name in (*SUMS, "tensor.mul"):
            for secret, (x, other) in enumerate((op.operands, op.operands[::-1])):
                if other in self.public and x.is_secret and shape_of(x) == shape_of(value):
                    return _Step(op, secret, self.public[other])
        return None

    def constant(self, builder: Builder, array: FloatArray) -> Value:
        """A public tensor of the new module."""
        source = self.module.add_source(array)
        return builder.build("tensor.constant", [], source=source, shape=array.shape)

    def product(self, builder: Builder, chosen: Weighted, x: Value, weights: FloatArray) -> Value:
        """A product with other weights."""
        operands = [x, self.constant(builder, weights)]
        return builder.build(chosen.op.spec, operands[:: -1 if chosen.secret else 1], **chosen.op.attrs)


class _Results(_Fold):
    """c (W x + b): the factor goes against the order of operations, to a product whose result nothing else reads."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.ends: dict[Op, tuple[Weighted, FloatArray, list[tuple[_Step, FloatArray]]]] = {}
        self.gone: set[Op] = set()
        self.made: set[Value] = set()  # by products with weights, or from what they make by operations a factor passes
        for op in module.walk():
            if len(op.results) == 1 and self._leads_back(op):
                self.made.add(op.result)
        for op in reversed(list(module.walk())):
            if op.name != "tensor.mul" or op in self.gone or op.result not in self.made:
                continue
            if (fold := self._find(op)) is not None:
                self.ends[op] = fold
                self.gone |= {fold[0].op, *(step.op for step, _ in fold[2])} - {op}

    def fold(self) -> Module | None:
        """The module with products where their factors were; None if there are none."""
        return rebuild(self.module, self._visit) if self.ends else None

    def _leads_back(self, op: Op) -> bool:
        if find_weighted(op, self.public) is not None:
            return True
        step = self.step(op.result)
        return step is not None and op.operands[step.secret] in self.made

    def _find(self, end: Op) -> tuple[Weighted, FloatArray, list[tuple[_Step, FloatArray]]] | None:
        """A product, its weights with the factor, and what lies between, each with the factor that its result lacks."""
        step, scale = self.step(end.result), np.ones((1,) * len(shape_of(end.result)))
        steps: list[tuple[_Step, FloatArray]] = []
        while step is not None and len(steps) < LONGEST:
            steps.insert(0, (step, scale))
            before = _before(step, scale)
            value = step.op.operands[step.secret]
            if before is None or not isinstance(value.owner, Op) or value.owner.block is not end.block:
                return None
            if len(value.uses) != 1 or value not in self.made:
                return None
            scale = before
            if (product := find_weighted(value.owner, self.public)) is not None:
                weights = None if scale.size == 1 else product.scale_weights(scale)
                return None if weights is None else (product, weights, steps)
            step = self.step(value)
        return None

    def _visit(self, op: Op, builder: Builder, mapping: Mapping) -> bool:
        if op in self.gone:
            return True  # it is made where the factor was
        if op not in self.ends:
            return False
        product, weights, steps = self.ends[op]
        builder.loc = product.op.loc
        value = self.product(builder, product, mapping[product.op.operands[product.secret]], weights)
        for step, scale in steps:
            builder.loc = step.op.loc
            if step.op.name in SUMS:
                assert step.number is not None
                operands = [value, self.constant(builder, compact(step.number, shape_of(value)) * scale)]
                value = builder.build(step.op.spec, operands[:: -1 if step.secret else 1])
            elif step.op.name != "tensor.mul":
                value = builder.build(step.op.spec, [value], **step.op.attrs)
        mapping[op.result] = value
        return True


class _Operands(_Fold):
    """W (c x + d): the product reads x itself."""

    def __init__(self, module: Module, whole: bool) -> None:
        super().__init__(module)
        self.ends: dict[Op, tuple[Weighted, FloatArray, list[_Step]]] = {}
        for op in module.walk():
            product = find_weighted(op, self.public)
            if product is not None and (fold := self._find(product)) is not None:
                self.ends[op] = fold
        while whole and (left := self._partial()):
            for op in left:
                del self.ends[op]

    def _partial(self) -> list[Op]:
        """Products that leave readers of what lies between them and their factor."""
        gone = {*self.ends, *(step.op for _, _, steps in self.ends.values() for step in steps)}
        return [
            op
            for op, (_, _, steps) in self.ends.items()
            if any(reader not in gone for step in steps for reader, _ in step.op.result.uses)
        ]

    def fold(self) -> Module | None:
        """The module with products that read what is before the factors; None if there are none."""
        return rebuild(self.module, self._visit) if self.ends else None

    def _find(self, product: Weighted) -> tuple[Weighted, FloatArray, list[_Step]] | None:
        """The longest way back from a product to a factor that its weights take in: those weights, and the way.

        Moves are made again, so nothing else may read what they make.
        """
        best, steps = None, list[_Step]()
        value = product.op.operands[product.secret]
        alone = len(value.uses) == 1
        while (step := self.step(value)) is not None and step.op.block is product.op.block and len(steps) < LONGEST:
            if step.op.name in MOVES and not alone:
                break
            steps.insert(0, step)
            value = step.op.operands[step.secret]
            alone = alone and len(value.uses) == 1
            affine = self._affine(steps)
            if affine is None:
                break
            weights = None if affine[0].size == 1 else product.of_scaled(affine[0])
            if step.op.name == "tensor.mul" and weights is not None and not self._is_in_units(value, affine[0]):
                best = product, weights, list(steps)
        return best

    def _is_in_units(self, value: Value, scale: FloatArray) -> bool:
        """Whether columns are an input's, of units of their own, and the factor brings them to one size.

        What encoding rounds of weights is as large beside a number of thousands as beside one of thousandths, whose
        result it would drown.
        """
        sizes = np.abs(scale[scale != 0.0])
        for _ in range(LONGEST):
            step = self.step(value)
            if step is None or step.op.name == "tensor.mul":
                break
            value = step.op.operands[step.secret]
        return not isinstance(value.owner, Op) and float(np.max(sizes) / np.min(sizes)) > UNITS

    def _affine(self, steps: list[_Step]) -> tuple[FloatArray, FloatArray] | None:
        """c and d of c x + d, with extent 1 where they are the same; None if a sum over windows has no c of its own."""
        shape = shape_of(steps[0].op.operands[steps[0].secret])
        scale, offset = np.ones((1,) * len(shape)), np.zeros((1,) * len(shape))
        for step in steps:
            shape = shape_of(step.op.result)
            if step.op.name in MOVES:
                moved = _after(step.op, scale)
                if moved is None:
                    return None
                scale, offset = moved, self._of_public(step.op, [offset])
            elif step.op.name == "tensor.neg":
                scale, offset = -scale, -offset
            else:
                assert step.number is not None
                number = compact(step.number, shape)
                if step.op.name == "tensor.mul":
                    scale, offset = scale * number, offset * number
                elif step.op.name == "tensor.add":
                    offset = offset + number
                else:
                    scale, offset = (-scale, number - offset) if step.secret else (scale, offset - number)
            scale, offset = compact(scale, shape), compact(offset, shape)
        return scale, offset

    def _of_public(self, op: Op, operands: list[FloatArray]) -> FloatArray:
        """Evaluate an operation on public numbers; at the edges of images, where zeros are read, not what it makes of
        equal numbers inside."""
        whole = [np.broadcast_to(array, shape_of(v)) for array, v in zip(operands, op.operands, strict=True)]
        return compact(evaluate(op, whole, self.module.sources)[0], shape_of(op.result))

    def _visit(self, op: Op, builder: Builder, mapping: Mapping) -> bool:
        if op not in self.ends:
            return False
        product, weights, steps = self.ends[op]
        affine = self._affine(steps)
        assert affine is not None
        value = mapping[steps[0].op.operands[steps[0].secret]]
        for step in steps:
            if step.op.name in MOVES:
                value = builder.build(step.op.spec, [value], **step.op.attrs)
        first, last = _split_affine(*affine)
        if np.any(first):
            value = builder.build("tensor.add", [value, self.constant(builder, first)])
        value = self.product(builder, product, value, weights)
        if np.any(last):
            operands = [last, product.weights]
            offset = self._of_public(op, operands[:: -1 if product.secret else 1])
            value = builder.build("tensor.add", [value, self.constant(builder, offset)])
        mapping[op.result] = value
        return True


def _split_affine(scale: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a and b of c (x + a) + b = c x + d.

    c x may be much larger than c x + d, as where columns are centred, and what is made of it as much larger; x + a is
    not. Where c is small x + a would be large, so d stays behind there.
    """
    is_first = np.abs(scale) >= SMALL * np.max(np.abs(scale), initial=0.0)
    first = np.divide(offset, scale, out=np.zeros(np.broadcast_shapes(scale.shape, offset.shape)), where=is_first)
    return first, np.where(is_first, 0.0, offset)


def _before(step: _Step, scale: FloatArray) -> FloatArray | None:
    """The factor that what an operation reads lacks, for one that its result lacks; None if there is none."""
    op = step.op
    if op.name == "tensor.mul":
        assert step.number is not None
        return scale * compact(step.number, shape_of(op.result))
    if op.name not in MOVES:
        return scale
    shape = shape_of(op.operands[0])
    if op.name == "tensor.sum_pool2d":
        return scale if scale.shape[-2:] == (1, 1) else None
    whole = np.broadcast_to(scale, shape_of(op.result))
    return compact(
        whole.reshape(shape) if op.name == "tensor.reshape" else whole.transpose(np.argsort(op.attrs["axes"])), shape
    )


def _after(op: Op, scale: FloatArray) -> FloatArray | None:
    """The factor of what a move makes, for one of what it reads; None if there is none."""
    if op.name == "tensor.sum_pool2d":
        return scale if scale.shape[-2:] == (1, 1) else None
    whole = np.broadcast_to(scale, shape_of(op.operands[0]))
    return whole.reshape(shape_of(op.result)) if op.name == "tensor.reshape" else whole.transpose(op.attrs["axes"])


_WRITES = ("tensor.constant", "tensor.add", "tensor.sub", "tensor.matmul", "tensor.conv2d", *MOVES)
PASS = Pass("fold-affine", run, roots=("tensor.mul",), reads=("tensor", "loop"), writes=_WRITES)
PASS_WHOLE = Pass(
    "fold-affine", partial(run, whole=True), roots=("tensor.mul",), reads=("tensor", "loop"), writes=_WRITES
)

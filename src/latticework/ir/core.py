"""The IR: values, ops, blocks and regions in single-assignment form, and the registry of op kinds.

A region has exactly one block and every block ends in a terminator (``loop.yield``):
control flow is structured, there is no graph of blocks.  What is known about a value
besides its type and origin is analysis, recomputed when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from latticework.errors import IrError
from latticework.errors.escaping import plain_text
from latticework.ir.attributes import attribute_key, print_attribute
from latticework.ir.location import Loc, Origin
from latticework.ir.types import Type
from latticework.lazy_dataclass import dataclass

A = TypeVar("A")
Array = NDArray[Any]
Attrs = Mapping[str, Any]


class Value:
    """One result of an op, or one argument of a block.

    uses    (op, operand number) of every use
    origin  the user's name for it and calibration facts, or None
    """

    __slots__ = ("index", "origin", "owner", "type", "uses")

    def __init__(self, type: Type, owner: Op | Block, index: int, origin: Origin | None = None) -> None:
        self.type = type
        self.owner = owner
        self.index = index
        self.uses: list[tuple[Op, int]] = []
        self.origin = origin

    @property
    def is_secret(self) -> bool:
        """Whether the value depends on a secret; types that do not say are secret."""
        return bool(getattr(self.type, "secret", True))

    def __repr__(self) -> str:
        name = f"{plain_text(self.origin.name)}: " if self.origin else ""
        owner = self.owner.name if isinstance(self.owner, Op) else "block argument"
        return f"<{name}{owner} #{self.index} : {self.type}>"


class Context(Protocol):
    """Interface of the interpreter to the reference function of an op.

    sources       content hash -> array, of the module
    index_inputs  run-time integers of the module by input name
    """

    sources: dict[str, Array]
    index_inputs: dict[str, int]

    def run(self, block: Block, arguments: Sequence[Array]) -> list[Array]:
        """Run a block of the op's regions; returns what its terminator yields."""


class JointContext(Protocol):
    """Interface of runs side by side to the reference function of an op for all of them.

    sources  content hash -> array, of the module
    """

    sources: dict[str, Array]

    def run(self, block: Block, arguments: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run a block of the op's regions for all; returns what its terminator yields, of every run."""


Infer = Callable[[Sequence[Value], Attrs, Sequence["Region"]], list[Type]]
Semantics = Callable[["Op", list[Array], Context], list[Array]]
BatchSemantics = Callable[["Op", list[list[Array]], JointContext], list[list[Array]]]
RegionTypes = Callable[[Sequence[Type], Attrs], list[Type]]


@dataclass(frozen=True, slots=True)
class RegionRule:
    """Regions that ops of a kind have.

    count     number of regions
    types     argument types of their blocks, from operand types and attributes; None: not told by the op
    isolated  they see nothing of what stands around the op
    """

    count: int = 0
    types: RegionTypes | None = None
    isolated: bool = False


NO_REGIONS = RegionRule()


@dataclass(frozen=True, slots=True, eq=False)
class OpSpec:
    """One kind of op.

    infer         result types from operands, attributes and regions; raises a UserError if they do not fit
    verify        further checks of a finished op; raises a UserError
    pure          no effect but its results, so unused ones are removed and equal ones shared
    semantics     in NumPy: arrays of the operands to arrays of the results
    terminator    ends a block; its operands are what the block yields
    regions       those that the op has
    together      the semantics for several runs at once, where that is quicker: lists of results for lists of operands
    """

    name: str
    infer: Infer
    verify: Callable[[Op], None] | None = None
    pure: bool = True
    semantics: Semantics | None = None
    terminator: bool = False
    regions: RegionRule = NO_REGIONS
    together: BatchSemantics | None = None


_specs: dict[str, OpSpec] = {}


def define(
    name: str,
    *,
    infer: Infer,
    verify: Callable[[Op], None] | None = None,
    semantics: Semantics | None = None,
    pure: bool = True,
    terminator: bool = False,
    regions: RegionRule = NO_REGIONS,
    together: BatchSemantics | None = None,
) -> OpSpec:
    """Register a kind of op under its dialect-qualified name; see `OpSpec`."""
    assert name not in _specs, f"op {name} is already defined"
    _specs[name] = OpSpec(name, infer, verify, pure, semantics, terminator, regions, together)
    return _specs[name]


def spec(name: str) -> OpSpec:
    """The kind of op called `name`; IrError if there is none."""
    try:
        return _specs[name]
    except KeyError:
        raise IrError(f"no op is called {name}; import the dialect that defines it") from None


def is_known(name: str) -> bool:
    """Whether an op, or a dialect, is called so; dialects that nothing imported yet are not there."""
    return name in _specs or any(op.partition(".")[0] == name for op in _specs)


def attribute(op: str, attrs: Attrs, key: str, kind: type[A]) -> A:
    """``attrs[key]``, checked to be a `kind`; IrError naming the op otherwise."""
    value = attrs.get(key)
    if type(value) is kind or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    have = f"is {print_attribute(value)}" if key in attrs else "is missing"
    raise IrError(f"{op}: attribute {key} {have}; it must be a {kind.__name__}")


class Op:
    """An operation: a kind, operands, results, constant attributes and nested regions."""

    __slots__ = ("attrs", "block", "loc", "operands", "regions", "results", "spec")

    def __init__(
        self,
        spec: OpSpec,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        attrs: dict[str, Any],
        regions: Sequence[Region] = (),
        *,
        loc: Loc,
    ) -> None:
        self.spec = spec
        self.operands = list(operands)
        self.results = [Value(type, self, index) for index, type in enumerate(result_types)]
        self.attrs = attrs
        self.regions = list(regions)
        self.block: Block | None = None
        self.loc = loc
        for number, value in enumerate(self.operands):
            value.uses.append((self, number))
        for region in self.regions:
            region.op = self

    @property
    def name(self) -> str:
        """The name of the kind of op, such as ``vec.add``."""
        return self.spec.name

    @property
    def result(self) -> Value:
        """The result of an op that has exactly one."""
        assert len(self.results) == 1, f"{self.name} has {len(self.results)} results"
        return self.results[0]

    def set_operand(self, number: int, value: Value) -> None:
        """Make `value` an operand instead of the present one."""
        self.operands[number].uses.remove((self, number))
        self.operands[number] = value
        value.uses.append((self, number))

    def erase(self) -> None:
        """Take the op, with what is nested in it, out of its block.  IrError while a result is used."""
        for value in self.results:
            if value.uses:
                raise IrError(f"{self.name}: cannot be erased, {value.uses[0][0].name} uses its result", at=self.loc)
        for op in (*walk_regions(self.regions), self):
            for number, value in enumerate(op.operands):
                value.uses.remove((op, number))
        if self.block is not None:
            self.block.ops.remove(self)
            self.block = None

    def __repr__(self) -> str:
        return f"<{self.name} at {self.loc}>"


class Block:
    """Ops in order, with arguments; the last op is a terminator.

    parent  the region the block is the block of; None for the body of a module
    """

    __slots__ = ("args", "ops", "parent")

    def __init__(self, parent: Region | None = None) -> None:
        self.args: list[Value] = []
        self.ops: list[Op] = []
        self.parent = parent

    def add_arg(self, type: Type, origin: Origin | None = None) -> Value:
        """Append an argument."""
        self.args.append(Value(type, self, len(self.args), origin))
        return self.args[-1]

    @property
    def terminator(self) -> Op:
        """The last op; IrError if the block does not end in a terminator."""
        if not self.ops or not self.ops[-1].spec.terminator:
            raise IrError(
                "a block must end in a terminator such as loop.yield", at=self.ops[-1].loc if self.ops else None
            )
        return self.ops[-1]

    @property
    def parent_op(self) -> Op | None:
        """The op the block is nested in, or None."""
        return self.parent.op if self.parent else None


class Region:
    """The single block nested in an op; `op` is that op, None until it is created."""

    __slots__ = ("block", "op")

    def __init__(self, block: Block) -> None:
        assert block.parent is None, "the block is already in a region"
        self.block = block
        self.op: Op | None = None
        block.parent = self


def kind_key(op: Op) -> Hashable:
    """Equal for ops without regions that differ at most in which values they read, and where they stand."""
    attrs = tuple((key, attribute_key(op.attrs[key])) for key in sorted(op.attrs))
    return op.spec, tuple(v.type for v in op.operands), tuple(v.type for v in op.results), attrs


def walk_regions(regions: Sequence[Region]) -> Iterator[Op]:
    """All ops in the regions, nested ones too, each before those nested in it."""
    for region in regions:
        yield from walk_block(region.block)


def walk_block(block: Block) -> Iterator[Op]:
    """All ops of the block, nested ones too, each before those nested in it."""
    for op in block.ops:
        yield op
        if op.regions:
            yield from walk_regions(op.regions)


def last_uses(block: Block) -> dict[Value, int]:
    """Place of the last op of a block that reads each value, in nested regions too."""
    last: dict[Value, int] = {}

    def read(op: Op, place: int) -> None:
        for value in op.operands:
            last[value] = place
        for region in op.regions:
            for nested in region.block.ops:
                read(nested, place)

    for place, op in enumerate(block.ops):
        for value in op.results:
            last.setdefault(value, place)
        read(op, place)
    return last

"""Ops that become one plan instruction each: types and semantics are those of the instruction's record.

What an op says in attributes, an instruction says in immediates and in the type of its result. `define_primitive` is
told how to read the one as the other, and this is all there is to an op: its type rule, its semantics and how it is
emitted follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from latticework.errors import IrError, UserError
from latticework.ir import INDEX, Array, Attrs, Context, Op, OpSpec, Region, Type, Value, define
from latticework.ir.dialects.key_dialect import KeyType
from latticework.ir.dialects.op_kinds import kind_of, type_of
from latticework.ir.dialects.rlwe_types import AddendType, CipherType, DigitsType, Level, PlainType
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.constant_uses import check_constant_use
from latticework.plan.instructions.instruction_record import Record
from latticework.plan.instructions.table import RECORDS, result_kinds
from latticework.plan.instructions.use import Use
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import Constant, ConstRef, NumberMatrix
from latticework.values.packing.slot_arrays import as_value, as_vectors, dot_vectors, multiply_vectors

Classes = tuple[type[Type], ...]
_CLASSES: dict[str, type[Type]] = {
    "c": CipherType, "s": CipherType, "d": DigitsType, "p": PlainType, "a": PlainType, "k": KeyType, "i": type(INDEX),
}  # fmt: skip


class Stated(NamedTuple):
    """Facts that an op states of its result's type; None where it states nothing."""

    track: int | None = None
    level: int | None = None
    scale: float | None = None
    slots: int | None = None
    count: int | None = None  # type: ignore[assignment]  # not the method of tuples

    @staticmethod
    def at(level: Level, scale: float | None = None, slots: int | None = None) -> Stated:
        """State a place on the modulus chain."""
        return Stated(level.track, level.index, scale, slots)


class OpFacts(NamedTuple):
    """Facts that the attributes of an op state of its instruction.

    num_results  of the instruction
    ring_degree  N, where an op needs to know it;  modulus  q0;  seed  of what a ciphertext's randomness decides
    constant     that the first immediate is the number of;  key  likewise;  constants  all are numbers of these
    """

    immediate: tuple[int, ...] = ()
    stated: Stated = Stated()
    num_results: int = 1
    ring_degree: int = 0
    modulus: int = 0
    seed: int = 0
    constant: Constant | None = None
    key: KeySpec | None = None
    constants: tuple[ConstRef, ...] = ()


Read = Callable[[str, Attrs, Sequence[Type]], OpFacts]
NOTHING = OpFacts()


@dataclass(slots=True, eq=False)
class AnyChain:
    """A modulus chain of which only this is known."""

    scheme: str
    ring_degree: int = 0
    first: int = 0

    def covers(self, held: tuple[int, int], wanted: tuple[int, int]) -> bool:
        """A higher level of the same track does."""
        return held[0] == wanted[0] and held[1] >= wanted[1]

    def same_limbs(self, _place: tuple[int, int], _other: tuple[int, int]) -> bool:
        """Taken for granted."""
        return True

    def dropped(self, _track: int, level: int, to: int) -> int | None:
        """The divisor is not known: the scale after a division is as it is stated."""
        return 1 if level == to else None

    def modulus(self, _level: int, _track: int = 0) -> int:
        """Return the modulus of level 0."""
        return self.first


class _Exact:
    """The machine of an interpreter: complex slots, no noise."""

    def __init__(self, context: Context, seed: int) -> None:
        self.context = context
        self.seed = seed

    def product(self, a: Array, b: Array) -> Array:
        """Slot by slot."""
        return a * b

    def dot(self, a: Array, b: Array, groups: int) -> Array:
        """Sums of products."""
        return dot_vectors(a, b, groups)

    def multiple(self, a: Array, factor: int, ratio: float) -> Array:
        """A value times an integer, at another scale."""
        return a * (factor * ratio)

    def integer(self, number: int, scale: float) -> float:
        """Return the number that an integer adds to a slot."""
        return number / scale

    def encode_constant(self, constant: ConstRef, _scale: float) -> Array:
        """Public vectors, not rounded."""
        return constant.evaluate(self.context.sources)

    def multiply_matrix(self, matrix: NumberMatrix, a: Array, _scale: float) -> Array:
        """Numbers that are not rounded."""
        return multiply_vectors(matrix.evaluate(self.context.sources), a)

    def random(self) -> np.random.Generator:
        """Return the random generator for what raising a modulus adds."""
        return np.random.default_rng(self.seed)

    def with_key_noise(self, a: Array, *_of: object) -> Array:
        """Return the slots as they are: no noise is drawn."""
        return a

    with_rounding = with_sparse_noise = with_raised_noise = with_key_noise


@dataclass(slots=True, eq=False)
class Primitive:
    """An op that is a plan instruction.

    read    what its attributes say
    """

    name: str
    record: Record
    read: Read

    @property
    def scheme(self) -> str | None:
        """The scheme of its operands, which its dialect is for; None: of any."""
        dialect = self.name.partition(".")[0]
        return dialect if dialect in self.record.signature.schemes else None

    def operands(self) -> Classes:
        """Classes of its operands, as the core's table has them."""
        added = AddendType if self.scheme == "bfv" else PlainType
        return tuple(added if letter == "a" else _CLASSES[letter] for letter in self.record.signature.operands)

    def use(self, types: Sequence[Type], facts: OpFacts, results: Sequence[Any]) -> Use:
        """The op as its record sees it."""
        scheme = next((s for t in types if (s := scheme_of(t))), self.scheme or "ckks")
        chain = AnyChain(scheme, facts.ring_degree, facts.modulus)
        kinds = tuple([kind_of(t) for t in types])
        return Use(
            kinds, tuple(results), facts.immediate, chain, (), () if facts.constant is None else (facts.constant,)
        )


PRIMITIVES: dict[str, Primitive] = {}


def scheme_of(type_: Type) -> str | None:
    """The scheme of a ciphertext or of digits; None for other types."""
    if isinstance(type_, DigitsType):
        return type_.of.scheme
    return type_.scheme if isinstance(type_, CipherType) else "bfv" if isinstance(type_, AddendType) else None


def define_primitive(
    name: str,
    read: Read = lambda _name, _attrs, _types: NOTHING,
    *,
    opcode: str | None = None,
    operands: Callable[[Sequence[Type]], Classes] | Classes | None = None,
    demand: Callable[[Attrs, Sequence[Type]], KeySpec] | None = None,
) -> OpSpec:
    """Define the op that is this instruction.

    read      its attributes; raises IrError where one is missing
    opcode    if it is not called as the op is in its dialect
    operands  classes of its operands, where the opcode's table does not tell
    demand    the key that it needs, from its attributes and operands, where it may still be without
    """
    primitive = name_instruction(name, read, opcode=opcode)
    classes = primitive.operands() if operands is None else operands
    has_constants = set("vmw") & set(primitive.record.signature.immediates)  # which are too many to keep

    def with_key(types: tuple[Type, ...], attrs: Attrs) -> tuple[Type, ...]:
        """The types of the operands and of the key that is not there yet."""
        return types if demand is None or len(types) > 1 else (*types, KeyType(demand(attrs, types)))

    def infer(values: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        types = tuple([value.type for value in values])
        wanted = classes(types) if callable(classes) else classes
        require_classes(name, types, wanted if demand is None else wanted[: max(1, len(types))])
        facts = read(name, attrs, types)
        types = with_key(types, attrs)
        return list((_inferred_anew if has_constants else _inferred)(primitive, types, facts))

    def semantics(op: Op, inputs: list[Array], context: Context) -> list[Array]:
        types = tuple([value.type for value in op.operands])
        facts = read(name, op.attrs, types)
        types = with_key(types, op.attrs)
        inputs = inputs + [np.empty(0)] * (len(types) - len(inputs))
        use = primitive.use(types, facts, [kind_of(value.type) for value in op.results])
        values = [_to_record_operand(t, x) for t, x in zip(types, inputs, strict=True)]
        results = primitive.record.meaning(_Exact(context, facts.seed), use, *values)
        return [as_value(array) for array in (results if isinstance(results, list) else [results])]

    return define(name, infer=infer, semantics=semantics)


def _to_record_operand(kind: Type, value: Array) -> Any:
    """An operand as records want it."""
    if isinstance(kind, KeyType):
        return kind.spec
    return int(value) if kind is INDEX else as_vectors(value)


def name_instruction(
    name: str, read: Read = lambda _name, _attrs, _types: NOTHING, *, opcode: str | None = None
) -> Primitive:
    """Tell that an op defined elsewhere, which states its type, is the instruction called as it, or `opcode`."""
    primitive = PRIMITIVES[name] = Primitive(name, RECORDS[opcode or name.partition(".")[2]], read)
    return primitive


def require_classes(name: str, types: Sequence[Type], classes: Classes) -> None:
    """IrError unless types are exactly of these classes."""
    if tuple([type(t) for t in types]) != classes:
        need = ", ".join(f"!{kind.name}" for kind in classes) or "no operands"
        raise IrError(f"{name}: takes {need}; got ({', '.join(map(str, types))})")


def _inferred_anew(primitive: Primitive, types: tuple[Type, ...], facts: OpFacts) -> tuple[Type, ...]:
    schemes = {scheme for t in types if (scheme := scheme_of(t))}
    if len(schemes) > 1 or (primitive.scheme and schemes - {primitive.scheme}):
        need = f"needs {primitive.scheme} ciphertexts" if primitive.scheme else "needs ciphertexts of one scheme"
        raise IrError(f"{primitive.name}: {need}, got {', '.join(map(str, types))}")
    use = primitive.use(types, facts, (facts.stated,) * facts.num_results)
    kinds = result_kinds(primitive.record, use, primitive.name)
    if facts.constant is not None:
        try:
            ((kind, _),) = primitive.record.signature.constants(facts.immediate)
            check_constant_use(kind, use, facts.constant)
        except UserError as error:
            raise type(error)(f"{primitive.name}: the map {error.message}") from None
    return tuple([type_of(kind, use.chain.scheme) for kind in kinds])


_inferred = lru_cache(maxsize=1 << 14)(_inferred_anew)

"""Carry error bounds through a plan: what its outputs may be off by, without running it on any value.

A register has one bound a vector, so that errors of the vectors of an array, which come from encryptions of their
own, add up as independent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from latticework.analysis.error_model import Bound, ErrorModel, Source
from latticework.errors import RangeError, UnsupportedError
from latticework.instructions.code import Instruction, PlanBlock
from latticework.instructions.kinds import CipherKind, DigitsKind, KeyKind, Kind, PlainKind
from latticework.packing.arrays import as_vectors
from latticework.packing.constants import ConstRef, MapSums
from latticework.packing.keys import KeySpec, galois_action
from latticework.plan.schema import IndexInput, Plan

OnBound = Callable[[int, Bound], None]
Bounds = tuple[Bound, ...]
Item = Bounds | int | KeySpec
_INDEX = {"iadd": int.__add__, "isub": int.__sub__, "imul": int.__mul__, "imin": min, "ilt": lambda a, b: int(a < b)}


@dataclass(frozen=True, slots=True)
class Magnitude:
    """What is known of a secret input: a bound on its slots, and their root mean square."""

    peak: float
    rms: float

    @staticmethod
    def of(values: npt.ArrayLike) -> Magnitude:
        """The magnitude of an example."""
        sizes = np.abs(np.asarray(values))
        return Magnitude(float(np.max(sizes, initial=0.0)), float(np.sqrt(np.mean(sizes**2))) if sizes.size else 0.0)


def predict(
    plan: Plan, inputs: Sequence[Magnitude | int], *, public_key: bool = False, on_bound: OnBound | None = None
) -> list[Bound]:
    """Bounds of a plan's packed outputs, each of the worst of its vectors.

    inputs      one magnitude per secret input, an int per index input, in order
    public_key  inputs are encrypted under the public key
    on_bound    called with (register, bound) for every ciphertext; for arrays, vector after vector
    raises      RangeError for a trip count out of bounds, UnsupportedError for a bootstrap, whose error is not linear
                in its input's, and for BFV, which has none
    """
    if plan.chain.scheme != "ckks":
        raise UnsupportedError("predict: results of this plan are exact; output_budgets says how much noise is left")
    run = _Prediction(plan, ErrorModel(plan.chain), plan.sources, on_bound)
    items: list[Item] = []
    for spec, known in zip(plan.client.inputs, inputs, strict=True):
        if isinstance(spec, IndexInput):
            assert isinstance(known, int)
            items.append(known)
        else:
            assert isinstance(known, Magnitude)
            place = spec.pack.slots, spec.scale
            fresh = run.model.fresh
            items.append(
                tuple(fresh(known.peak, known.rms, *place, public_key=public_key) for _ in range(spec.pack.count))
            )
    return [worst_of(bounds) for bounds in run.block(0, items) if isinstance(bounds, tuple)]


def worst_of(bounds: Sequence[Bound]) -> Bound:
    """What holds for each of several vectors."""
    if len(bounds) == 1:
        return bounds[0]
    lineages = [b.lineage for b in bounds if b.lineage is not None]
    return Bound(
        max(b.peak for b in bounds),
        max(b.rms for b in bounds),
        max(b.average for b in bounds),
        max(b.worst for b in bounds),
        frozenset[Source]().union(*lineages) if len(lineages) == len(bounds) else None,
    )


def together(arrays: Sequence[Bounds]) -> list[Bounds]:
    """Vector by vector, what stands in each of some arrays, where one vector meets each of an array."""
    count = max(len(array) for array in arrays)
    return [tuple(array[i if len(array) > 1 else 0] for array in arrays) for i in range(count)]


class Steps(Protocol):
    """The executable part of a plan."""

    @property
    def kinds(self) -> Sequence[Kind]:
        """Register types in use."""

    @property
    def registers(self) -> Sequence[int]:
        """The number of each register's kind."""

    @property
    def blocks(self) -> Sequence[PlanBlock]:
        """Code, outermost first."""

    @property
    def keys(self) -> tuple[KeySpec, ...]:
        """Evaluation keys."""

    @property
    def constants(self) -> Sequence[ConstRef | MapSums]:
        """What is encoded."""


def carry(
    steps: Steps, sources: Mapping[str, npt.NDArray[Any]], model: ErrorModel, x: Bound
) -> tuple[Bound, CipherKind]:
    """The bound that steps from one ciphertext to one, or to an array, make of x, and what kind of register it is of.

    raises  UnsupportedError for a bootstrap
    """
    (result,) = _Prediction(steps, model, sources, None).block(0, [(x,)])
    kind = steps.kinds[steps.registers[steps.blocks[0].code[-1].operands[0].register]]
    assert isinstance(result, tuple) and isinstance(kind, CipherKind)
    return worst_of(result), kind


class _Prediction:
    def __init__(
        self, plan: Steps, model: ErrorModel, sources: Mapping[str, npt.NDArray[Any]], on_bound: OnBound | None
    ) -> None:
        self.plan = plan
        self.model = model
        self.sources = sources
        self.on_bound = on_bound
        self.registers: dict[int, Item] = {}
        self.constants: dict[tuple[ConstRef, float], Bounds] = {}

    def kind(self, register: int) -> Kind:
        """The type of a register."""
        return self.plan.kinds[self.plan.registers[register]]

    def block(self, number: int, arguments: Sequence[Item]) -> list[Item]:
        """Run a block on bounds; returns what it yields."""
        block = self.plan.blocks[number]
        self.registers.update(zip(block.arguments, arguments, strict=True))
        for instruction in block.code:
            operands = [self.registers[o.register] for o in instruction.operands]
            if instruction.op == "yield":
                return operands
            for register, item in zip(instruction.results, self.step(instruction, operands), strict=True):
                self.registers[register] = item
                for bound in item if self.on_bound is not None and isinstance(item, tuple) else ():
                    self.on_bound(register, bound)  # type: ignore[misc]
        raise AssertionError(f"block {number} does not end in yield")

    def step(self, instruction: Instruction, x: list[Item]) -> list[Item]:
        """One instruction on bounds."""
        op, immediate = instruction.op, instruction.immediate
        if op == "for":
            return self.loop(immediate, x)
        if op == "if":
            return self.block(immediate[0 if x[0] else 1], x[1:])
        if op == "iconst":
            return [immediate[0]]
        if op in _INDEX:
            return [_INDEX[op](*x)]  # type: ignore[operator]
        kind = self.kind(instruction.results[0])
        if isinstance(kind, KeyKind):
            return [self.plan.keys[kind.key]]
        if isinstance(kind, PlainKind):
            constant = self.plan.constants[immediate[0]]
            assert isinstance(constant, ConstRef)
            return [self.constant(constant, kind.scale)]
        if op == "hoist":
            return [x[0]]
        vectors = [item for item in x if isinstance(item, tuple)]
        assert isinstance(kind, CipherKind)
        match op:
            case "take":
                return [tuple(vectors[0][number] for number in immediate)]
            case "concat":
                return [tuple(bound for part in vectors for bound in part)]
            case "sum":
                return [self.sums(vectors[0], immediate[0])]
            case "dot":
                products = tuple(self.model.mul(a, b) for a, b in together(vectors))
                return [self.sums(products, immediate[0])]
            case "diag_sums":
                sums = [self.diag_sums(instruction, x, parts) for parts in together(vectors)]
                return list(zip(*sums, strict=True))
        keys = [item for item in x if isinstance(item, KeySpec)]
        if op == "map_sums":
            return [self.map_sums(instruction, vectors[0], keys, kind.scale)]
        return [tuple(self.cipher_step(instruction, kind, [*parts, *keys]) for parts in together(vectors))]

    def sums(self, bounds: Bounds, groups: int) -> Bounds:
        """Neighbours added up."""
        size = len(bounds) // groups
        return tuple(reduce(self.model.add, bounds[size * g : size * (g + 1)]) for g in range(groups))

    def loop(self, immediate: tuple[int, ...], x: list[Item]) -> list[Item]:
        """A counted loop, turn by turn."""
        block, limit = immediate
        trips, carried = x[0], x[1:]
        assert isinstance(trips, int)
        if not 0 <= trips <= limit:
            raise RangeError(f"for: the trip count is {trips}; this plan allows 0 to {limit}")
        for i in range(trips):
            carried = self.block(block, [i, *carried])
        return carried

    def constant(self, constant: ConstRef, scale: float) -> Bounds:
        """An encoded constant."""
        found = self.constants.get((constant, scale))
        if found is None:
            known = [Magnitude.of(v) for v in as_vectors(constant.evaluate(self.sources))]
            found = tuple(self.model.encoded(k.peak, k.rms, constant.slots, scale) for k in known)
            self.constants[constant, scale] = found
        return found

    def map_sums(self, instruction: Instruction, x: Bounds, keys: list[KeySpec], scale: float) -> Bounds:
        """Inner sums of a block map, at a scale."""
        sums, source = self.plan.constants[instruction.immediate[0]], self.kind(instruction.operands[0].register)
        assert isinstance(sums, MapSums) and isinstance(source, CipherKind)
        products = sums.products
        babies = {(in_, baby): self.switched(x[in_], keys[baby - 1], source) for in_, baby in products.switches()}
        totals: list[Bound] = [Bound(0.0, 0.0)] * len(products.groups)
        for (in_, baby, group), constant in zip(products.rows.tolist(), products.values, strict=True):
            (plain,) = self.constant(constant, scale / source.scale)
            product = self.model.mul(babies[in_, baby] if baby else x[in_], plain)
            totals[group] = self.model.add(totals[group], product)
        return tuple(totals)

    def cipher_step(self, instruction: Instruction, kind: CipherKind, x: list[Bound | KeySpec]) -> Bound:
        """One ciphertext of what an instruction makes; its operands and key."""
        a = x[0]
        assert isinstance(a, Bound)
        before = self.kind(instruction.operands[0].register)
        match instruction.op:
            case "add" | "sub" | "add_plain" | "sub_plain":
                b = x[1]
                assert isinstance(b, Bound)
                other = self.kind(instruction.operands[1].register)
                assert isinstance(other, CipherKind | PlainKind)
                return self.model.add(a, self.model.relabelled(b, other.scale, kind.scale))
            case "mul" | "mul_plain":
                assert isinstance(x[1], Bound)
                return self.model.mul(a, x[1])
            case "square":
                return self.model.mul(a, a)
            case "mul_int":
                assert isinstance(before, CipherKind)
                return a.times(instruction.immediate[0] * (before.scale / kind.scale))
            case "add_int":
                constant = abs(instruction.immediate[0]) / kind.scale
                rounding = 0.5 / kind.scale
                return self.model.add(a, Bound(constant, constant, rounding, rounding))
            case "relabel":
                assert isinstance(before, CipherKind)
                return a.times(before.scale / kind.scale)
            case "neg" | "drop_level" | "trivial" | "extend" | "mul_monomial":
                return a
            case "mod_down":
                return self.model.mod_down(a, kind.slots, kind.scale, kind.degree)
            case "key_product" | "rotate" | "relinearize":
                assert isinstance(x[1], KeySpec)
                assert isinstance(before, CipherKind | DigitsKind)
                switched = self.switched(a, x[1], before)
                if instruction.op == "key_product":
                    return switched
                return self.model.mod_down(switched, kind.slots, kind.scale)
        raise UnsupportedError(f"{instruction.op}: its error does not follow from that of its operand alone")

    def switched(self, a: Bound, key: KeySpec, kind: CipherKind | DigitsKind) -> Bound:
        """A key product of what is held like this, turned as the key turns."""
        a = self.model.key_product(a, kind.slots, kind.scale, kind.level, kind.track)
        if key.kind != "galois":
            return a
        steps, conjugated = galois_action(key.galois_element, kind.slots)
        return a.turned(steps, kind.slots, conjugated=conjugated)

    def diag_sums(self, instruction: Instruction, x: list[Item], parts: Bounds) -> list[Bound]:
        """Sums of products of turned copies of one ciphertext with constants; `parts` are it and the constants."""
        num_keys, num_giants, *pairs = instruction.immediate
        a, keys, plains = parts[0], x[1 : 1 + num_keys], parts[1:]
        source = self.kind(instruction.operands[0].register)
        assert isinstance(source, DigitsKind)
        babies = [a] + [self.switched(a, key, source) for key in keys if isinstance(key, KeySpec)]
        sums: list[Bound] = [Bound(0.0, 0.0)] * num_giants
        for plain, baby, giant in zip(plains, pairs[::2], pairs[1::2], strict=True):
            sums[giant] = self.model.add(sums[giant], self.model.mul(babies[baby], plain))
        return sums

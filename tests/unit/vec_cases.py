"""Small vec programs, small INSECURE chains, and what the middle of the compiler makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.codegen.emit import emit_code
from latticework.dialects import ckks, key, loop, rlwe, vec  # noqa: F401  (defines the ops)
from latticework.expand import LevelPrices, choose_ways, expanding
from latticework.ir import INDEX, Block, Builder, Module, Region, Value, run_passes, verify
from latticework.keys import manifest, plan_keys
from latticework.levels import decide_levels, program_depth, write_levels
from latticework.packing.constants import Access, ConstRef, IntervalPolynomial, LinearMap, LoopNest
from latticework.packing.pack import PackDim, PackMap
from latticework.params import ModulusChain, Need, build_chain
from latticework.passes import cse, dce
from latticework.plan.schema import ClientSpec, IndexInput, Output, Plan, SecretInput
from latticework.techniques import UNPACKED, Techniques

SLOTS = 16


def small_chain(depth: int, *, ring_degree: int = 1024, scale_bits: int = 40, headroom_bits: int = 12) -> ModulusChain:
    """A chain of this depth, insecure because the ring is small."""
    need = Need(depth, min(SLOTS, ring_degree // 2), scale_bits, headroom_bits)
    return build_chain(ring_degree, need, 2, insecure=True)


def line(slots: int = SLOTS, count: int = 1) -> PackMap:
    """A tensor of one axis that fills its vector; of two, a row a vector, if there are several."""
    if count > 1:
        return PackMap((count, slots), slots, (PackDim(1, slots),), (PackDim(0, count),))
    return PackMap((slots,), slots, (PackDim(0, slots),))


class Vectors:
    """A vec module being written.

    counts  number of vectors of each secret input; 1 if not given
    """

    def __init__(
        self, secrets: int = 1, *, slots: int = SLOTS, trips: bool = False, counts: Sequence[int] = ()
    ) -> None:
        names = [f"x{i}" for i in range(secrets)] + ["n"] * trips
        self.module = Module(input_names=names)
        self.slots = slots
        self.kind = vec.VecType(1, slots, "real", True)
        counted = counts or [1] * secrets
        self.x = [self.module.body.add_arg(self.kind.replace(count=counted[i])) for i in range(secrets)]
        self.n = self.module.body.add_arg(INDEX) if trips else None
        self.builder = Builder(self.module.body)

    def op(self, name: str, *operands: Value, **attrs: object) -> Value:
        return self.builder.build(f"vec.{name}", list(operands), **attrs)

    def splat(self, value: float) -> Value:
        return self.op("splat", value=float(value), slots=self.slots)

    def constant(self, array: np.ndarray) -> Value:
        return self.op("constant", value=ConstRef(gather_of(array, self.module)))

    def matrix(self, x: Value, matrix: np.ndarray) -> Value:
        return self.op("linear_transform", x, map=map_of(matrix, self.module))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        return self.op("polynomial", x, polynomial=IntervalPolynomial(tuple(map(float, coefficients)), (-1.0, 1.0)))

    def loop(
        self,
        body: Callable[..., Sequence[Value]],
        inits: Sequence[Value],
        trips: int | Value,
        at_most: int | None = None,
    ) -> list[Value]:
        block = Block()
        index = block.add_arg(INDEX)
        args = [block.add_arg(v.type) for v in inits]
        outer, self.builder = self.builder, Builder(block)
        self.builder.create("loop.yield", list(body(index, *args)))
        self.builder = outer
        known = isinstance(trips, int)
        attrs = {"static_trip": trips if known else None, "at_most": at_most}
        operands = [*inits] if known else [trips, *inits]
        return list(self.builder.create("loop.for", operands, attrs, [Region(block)]).results)

    def done(self, *outputs: Value) -> Module:
        self.builder.create("loop.yield", list(outputs))
        self.module.outputs = [f"y{i}" for i in range(len(outputs))]
        verify(self.module)
        return self.module


def gather_of(array: np.ndarray, module: Module) -> LoopNest:
    """A constant vector of the module."""
    count, slots = (1, *array.shape)[-2:]
    walk = Access((array.size,), ((1,),), (0,))
    return LoopNest((array.size,), line(slots, count), walk, module.add_source(array), walk)


def map_of(matrix: np.ndarray, module: Module) -> LinearMap:
    """The linear map of a square matrix between full vectors."""
    n = len(matrix)
    row, column = Access((n,), ((1, 0),), (0,)), Access((n,), ((0, 1),), (0,))
    both = Access((n, n), ((1, 0), (0, 1)), (0, 0))
    return LinearMap(n, LoopNest((n, n), line(n), row, module.add_source(matrix), both, line(n), column))


def managed(module: Module, chain: ModulusChain | None = None, residual: int | None = None) -> Module:
    """The module with levels and scales, on a chain just long enough if none is given."""
    result = write_levels(decide_levels(module, residual=residual), chain or small_chain(program_depth(module)))
    verify(result)
    return result


def primitives_of(
    module: Module, chain: ModulusChain, techniques: Techniques = UNPACKED, prices: LevelPrices | None = None
) -> Module:
    """A managed module as primitives, the pass held to what it declares."""
    choices = choose_ways(module, techniques, prices)
    ways = {"hoisting": techniques.hoisting, "shared_bootstraps": techniques.shared_bootstraps}
    return run_passes(module, (expanding(chain, choices, **ways),))


def expanded(module: Module, chain: ModulusChain, residual: int | None = None, **ways: Any) -> Module:
    """The module as primitives, those that nothing reads gone."""
    return run_passes(primitives_of(managed(module, chain, residual), chain, **ways), (cse.PASS, dce.PASS))


def plan_of(module: Module, chain: ModulusChain, **ways: Any) -> Plan:
    """A plan of the module, its inputs and outputs the vectors themselves."""
    primitives = expanded(module, chain, **ways)
    keys = plan_keys(primitives)
    code = emit_code(primitives, chain, keys)
    inputs, outputs = [], []
    for name, value in zip(primitives.input_names, primitives.inputs, strict=True):
        kind = value.type
        if kind is INDEX:
            inputs.append(IndexInput(name, 8))
        else:
            pack = line(kind.slots, kind.count)
            inputs.append(SecretInput(name, pack.shape, pack, kind.level.index, kind.scale, -4.0, 4.0))
    for name, value in zip(primitives.outputs, primitives.body.terminator.operands, strict=True):
        kind = value.type
        pack = line(kind.slots, kind.count)
        outputs.append(Output(name, pack.shape, pack, kind.level.index, kind.scale, 0.0, 1.0, 0.0))
    client = ClientSpec("case", chain, tuple(inputs), tuple(outputs), manifest(code, chain), 12.0)
    sources = {name: np.asarray(array, dtype=np.float64) for name, array in primitives.sources.items()}
    return Plan(
        client, tuple(code.kinds), tuple(code.registers), tuple(code.blocks), code.keys, tuple(code.constants),
        sources, tuple(code.locations), (), {}, bootstraps=tuple(code.bootstraps),
    )  # fmt: skip


def counted(module: Module) -> Counter[str]:
    """How often each op stands in a module."""
    return Counter(op.name for op in module.walk())

"""Small vec programs, small INSECURE chains, and what the middle of the compiler makes of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bench.vectors import SLOTS, Vectors, line  # noqa: F401  (what tests write them with)
from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.codegen.generate import expansion
from latticework.compiler.expand import LevelPrices
from latticework.compiler.keys import manifest, plan_keys
from latticework.compiler.levels import decide_levels, program_depth, write_levels
from latticework.compiler.options.techniques import UNPACKED, Techniques
from latticework.compiler.passes import cse, dce
from latticework.ir import INDEX, Module, run_passes, verify
from latticework.ir.dialects import ckks_dialect, key_dialect, loop_dialect, rlwe_dialect, vec_dialect  # noqa: F401  (defines the ops)
from latticework.plan.parameters import ModulusChain, Need, build_chain
from latticework.plan.schema.schema import ClientSpec, IndexInput, Output, Plan, SecretInput


def small_chain(depth: int, *, ring_degree: int = 1024, scale_bits: int = 40, headroom_bits: int = 12) -> ModulusChain:
    """A chain of this depth, insecure because the ring is small."""
    need = Need(depth, min(SLOTS, ring_degree // 2), scale_bits, headroom_bits)
    return build_chain(ring_degree, need, 2, insecure=True)


def managed(module: Module, chain: ModulusChain | None = None, residual: int | None = None) -> Module:
    """The module with levels and scales, on a chain just long enough if none is given."""
    result = write_levels(decide_levels(module, residual=residual), chain or small_chain(program_depth(module)))
    verify(result)
    return result


def primitives_of(
    module: Module, chain: ModulusChain, techniques: Techniques = UNPACKED, prices: LevelPrices | None = None
) -> Module:
    """A managed module as primitives, the pass held to what it declares."""
    return run_passes(module, expansion(module, chain, techniques, prices)[1])


def expanded(module: Module, chain: ModulusChain, residual: int | None = None, **ways: Any) -> Module:
    """The module as primitives, those that nothing reads gone."""
    return run_passes(primitives_of(managed(module, chain, residual), chain, **ways), (cse.PASS, dce.PASS))


def plan_of(module: Module, chain: ModulusChain, **ways: Any) -> Plan:
    """A plan of the module, its inputs and outputs the vectors themselves."""
    primitives = expanded(module, chain, **ways)
    keys = plan_keys(primitives, chain)
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

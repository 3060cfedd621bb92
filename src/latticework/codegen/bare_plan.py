"""A plan of a managed module by itself, to be simulated: no tensor describes its inputs and outputs."""

from __future__ import annotations

from latticework.codegen.emit import emit_code
from latticework.expand import expand
from latticework.ir import Module, run_passes
from latticework.keys import manifest, planned_keys
from latticework.params import ModulusChain
from latticework.passes import cse, dce
from latticework.plan.schema import ClientSpec, Plan


def bare_plan(name: str, module: Module, chain: ModulusChain) -> Plan:
    """Expanded, with its keys, and without sources of constants."""
    primitives = run_passes(expand(module, chain), (cse.PASS, dce.PASS))
    keys = planned_keys(primitives, chain)
    code = emit_code(primitives, chain, keys)
    client = ClientSpec(name, chain, (), (), manifest(primitives, keys, chain), 0.0)
    return Plan(
        client, tuple(code.kinds), tuple(code.registers), tuple(code.blocks), code.keys, tuple(code.constants), {},
        tuple(code.locations), (), {},
    )  # fmt: skip

"""A plan of a managed module by itself, to be simulated: no tensor describes its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from latticework.compiler.codegen.emit_code import Code
from latticework.compiler.codegen.generate import generate
from latticework.compiler.expand import LevelPrices
from latticework.compiler.keys import manifest
from latticework.compiler.options.techniques import ALONE, Techniques
from latticework.ir import Module
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import ClientSpec, Plan


def bare_plan(
    name: str,
    module: Module,
    chain: ModulusChain,
    *,
    prices: LevelPrices | None = None,
    techniques: Techniques = ALONE,
) -> Plan:
    """Expanded, with its keys; `prices` and `techniques` as of `generate`."""
    code = generate(module, chain, prices=prices, techniques=techniques)
    return plan_of_code(name, code.code, code.module.sources, chain)


def plan_of_code(name: str, code: Code, given: Mapping[str, npt.NDArray[Any]], chain: ModulusChain) -> Plan:
    """The plan of code that is there; `given`: the public arrays that it may read, by name."""
    used = set[str]().union(*(c.sources for c in code.constants))
    sources = {name: given[name] for name in used if name in given}
    client = ClientSpec(name, chain, (), (), manifest(code, chain), 0.0)
    return Plan(
        client, tuple(code.kinds), tuple(code.registers), tuple(code.blocks), code.keys, tuple(code.constants), sources,
        tuple(code.locations), (), {}, bootstraps=tuple(code.bootstraps),
    )  # fmt: skip

"""generate: expand, tidy, collect the keys and emit: the way from every managed module to code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from latticework.codegen.emit import Code, emit_code
from latticework.expand import LevelPrices, choose_ways, expanding
from latticework.ir import Module, Op, PassEvent, run_passes
from latticework.keys import plan_keys
from latticework.packing.keys import KeySpec
from latticework.packing.loop_nests.baby_giant import Choice
from latticework.params import ModulusChain
from latticework.passes import cse, dce
from latticework.techniques import ALONE, Techniques

PRIMITIVE_PASSES = (cse.PASS, dce.PASS)


@dataclass(frozen=True)
class Generated:
    """What a managed module becomes.

    module   of primitives, each key switch with the key that it demands
    keys     that serve all demands
    code     the executable part of a plan
    choices  how each linear map of the managed module is carried out
    """

    module: Module
    keys: tuple[KeySpec, ...]
    code: Code
    choices: dict[Op, Choice]


def generate(
    managed: Module,
    chain: ModulusChain,
    *,
    prices: LevelPrices | None = None,
    techniques: Techniques = ALONE,
    on_event: Callable[[PassEvent], None] | None = None,
) -> Generated:
    """The code of a managed module, of any scheme.

    prices      of linear maps; typical ones if not given
    techniques  how linear maps may be carried out, whether rotations share decompositions, and bootstraps code
    on_event    hears of every pass
    """
    choices = choose_ways(managed, techniques, prices)
    expansion = expanding(chain, choices, hoisting=techniques.hoisting, shared_bootstraps=techniques.shared_bootstraps)
    module = run_passes(managed, (expansion, *PRIMITIVE_PASSES), on_event=on_event)
    keys = plan_keys(module, chain)
    return Generated(module, keys, emit_code(module, chain, keys), choices)

"""generate: expand, tidy, collect the keys and emit: the way from every managed module to code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from latticework.codegen.emit import Code, emit_code
from latticework.dialects.rlwe import Level
from latticework.expand import expand
from latticework.ir import Module, Op, PassEvent, run_passes
from latticework.keys import planned_keys
from latticework.packing.keys import KeySpec
from latticework.packing.loop_nests.baby_giant import Choice, Prices
from latticework.params import ModulusChain
from latticework.passes import cse, dce
from latticework.techniques import UNPACKED, Techniques

PRIMITIVE_PASSES = (cse.PASS, dce.PASS)


@dataclass(frozen=True)
class Generated:
    """What a managed module becomes.

    module  of primitives, each key switch with the key that it demands
    keys    that serve all demands
    code    the executable part of a plan
    """

    module: Module
    keys: tuple[KeySpec, ...]
    code: Code


def generate(
    managed: Module,
    chain: ModulusChain,
    *,
    prices: Callable[[Level], Prices] | None = None,
    techniques: Techniques = UNPACKED,
    choices: dict[Op, Choice] | None = None,
    on_event: Callable[[PassEvent], None] | None = None,
) -> Generated:
    """The code of a managed module, of any scheme.

    prices, techniques, choices  as of `expand`
    on_event                     hears of every pass
    """
    expanded = expand(managed, chain, prices=prices, techniques=techniques, choices=choices)
    module = run_passes(expanded, PRIMITIVE_PASSES, on_event=on_event)
    keys = planned_keys(module, chain)
    return Generated(module, keys, emit_code(module, chain, keys))

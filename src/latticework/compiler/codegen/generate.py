"""generate: expand, tidy, collect the keys and emit: the path from every managed module to code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from latticework.compiler.codegen.emit_code import Code, emit_code
from latticework.compiler.expand import LevelPrices, MapStrategies, choose_strategies, expanding
from latticework.compiler.keys import plan_keys
from latticework.compiler.options.techniques import ALONE, POWERS_OF_TWO, Techniques
from latticework.compiler.passes import cse, dce, sums_over_p
from latticework.compiler.passes.powers_of_two import power_of_two_rotations
from latticework.ir import Module, Op, Pass, PassEvent, run_passes
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.loop_nests.baby_giant import Choice
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice

PRIMITIVE_PASSES = (cse.PASS, dce.PASS)


@dataclass(frozen=True)
class Generated:
    """The result of code generation for a managed module.

    module   of primitives, each key switch with the key that it demands
    keys     that serve all demands
    code     the executable part of a plan
    choices  how each linear map of the managed module is carried out
    """

    module: Module
    keys: tuple[KeySpec, ...]
    code: Code
    choices: Mapping[Op, Choice | MatrixChoice]


def generate(
    managed: Module,
    chain: ModulusChain,
    *,
    prices: LevelPrices | None = None,
    techniques: Techniques = ALONE,
    held: Sequence[KeySpec] = (),
    on_event: Callable[[PassEvent], None] | None = None,
) -> Generated:
    """The code of a managed module, of any scheme.

    prices      of linear maps; typical ones if not given
    techniques  how linear maps may be carried out, whether rotations share decompositions, and bootstraps code
    held        keys that are there: linear maps take no others where these are enough
    on_event    hears of every pass
    """
    strategies, passes = expansion(managed, chain, techniques, prices, held)
    module = run_passes(managed, (*passes, *PRIMITIVE_PASSES), on_event=on_event)
    keys = plan_keys(module, chain)
    return Generated(module, keys, emit_code(module, chain, keys), {**strategies.maps, **strategies.matrices})


def expansion(
    managed: Module,
    chain: ModulusChain,
    techniques: Techniques,
    prices: LevelPrices | None = None,
    held: Sequence[KeySpec] = (),
) -> tuple[MapStrategies, tuple[Pass[object], ...]]:
    """Choose how the linear maps of a managed module are carried out, and the passes that write its primitives so."""
    by_powers = techniques.rotation_keys == POWERS_OF_TWO
    hoisting = techniques.hoisting and not by_powers
    strategies = choose_strategies(managed, replace(techniques, hoisting=hoisting), prices, chain, held)
    step = expanding(chain, strategies, hoisting=hoisting, shared_bootstraps=techniques.shared_bootstraps)
    if by_powers:
        return strategies, (step, power_of_two_rotations(chain.ring_degree))
    return strategies, (step, sums_over_p.PASS) if hoisting else (step,)

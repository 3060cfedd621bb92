"""Golden texts: NAME.txt holds cases of what goes into the step of that name, and of what comes out of it.

A case is `// what it shows`, the input, a line `// =>`, the output; an empty line stands between cases. Texts name long
types and attributes at their top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.expand import MapStrategies, choose_strategies, expanding
from latticework.compiler.keys import plan_keys
from latticework.compiler.layout_choice import CodeCost, Counted, code_seconds, find_layouts
from latticework.compiler.levels import (
    LevelPlan,
    decide_levels,
    decide_levels_bfv,
    public_factors,
    unroll,
    write_levels,
)
from latticework.compiler.levels.level_plan_text import print_levels
from latticework.compiler.levels.loops.flatten import flattening
from latticework.compiler.levels.loops.halo_baseline import HALO
from latticework.compiler.levels.loops.pack_carried import packing
from latticework.compiler.levels.loops.peel import peeling
from latticework.compiler.levels.loops.plan_loops import plan_loops
from latticework.compiler.levels.loops.slot_periods import carried_periods
from latticework.compiler.levels.loops.target_level import tuning
from latticework.compiler.levels.loops.type_match import matching
from latticework.compiler.levels.loops.unroll_groups import unrolling
from latticework.compiler.levels.loops.writing import ValueFacts
from latticework.compiler.levels.place_bootstrap import bootstrap_pass
from latticework.compiler.levels.refresh_ends import refresh_ends
from latticework.compiler.levels.refresh_reasons import state_reasons
from latticework.compiler.options.techniques import UNPACKED, Techniques
from latticework.compiler.passes import (
    cse,
    dce,
    factor_sums,
    fold_splats,
    giant_products,
    hoist_invariants,
    interleave_rows,
    inverse_products,
    merge_maps,
    merge_matrices,
    normalize_polynomials,
    pack_products,
    reassociate,
    share_inputs,
    share_outputs,
    split_products,
)
from latticework.errors.shown import count_noun
from latticework.ir import Block, Module, Op, Pass, Value, parse_module, print_module, run_passes, verify
from latticework.ir.dialects import (  # noqa: F401  (defines ops)
    bfv_dialect,
    bootstrap_dialect,
    ckks_dialect,
    key_dialect,
    loop_dialect,
    rlwe_dialect,
    scalar_dialect,
    tensor_dialect,
    vec_dialect,
)
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.instructions.register_kinds import level_text
from latticework.plan.instructions.walk import Domain, Walk
from latticework.plan.key_schedule.key_uses import passes_of
from latticework.plan.key_schedule.key_windows import rows_of_limb
from latticework.plan.parameters import bootstrap_chain, build_chain
from latticework.plan.parameters.bfv_chain import chain_for_depth, plain_prime
from latticework.plan.parameters.select import Need
from latticework.tensor.layout import assign_layouts
from latticework.tensor.ops import ALL_OPS

HERE = Path(__file__).parent
ARROW = "\n// =>\n"
COST = CodeCost(Counted(), 10.0)  # Rotom's prices; a level costs a product
CHAIN = build_chain(1024, Need(3, 16, 40, 12), 2, insecure=True)
BFV = chain_for_depth(2, 2048, plain_prime(2048, 20, None), insecure=True)
BOOTSTRAP = bootstrap_chain("T11")
AT_ONCE = Techniques(lazy_relinearization=False, lazy_rescaling=False)
VECTOR_SLOTS = 16
RESIDUAL = 4  # levels that a bootstrap leaves


class BootstrapPrices:
    """Of bootstraps much more than of operations, of two real ones more than of a complex one."""

    def operation(self, op: Op, level: int) -> float:
        """Rising with levels."""
        return 0.01 * (level + 1)

    def bootstrap(self, target: int, *, real: bool, count: int = 1) -> float:
        """Rising with levels."""
        return count * (7.0 if real else 10.0) * (1.0 + target / 10)


def magnitudes(module: Module) -> Mapping[Value, int]:
    """All values are within [-1, 1]."""
    inside = (v for op in module.walk() for region in op.regions for v in region.block.args)
    return dict.fromkeys([*module.inputs, *(v for op in module.walk() for v in op.results), *inside], 0)


def packing_all() -> Pass[object]:
    """With the periods of what loops carry found first."""
    facts = ValueFacts()

    def run(module: Module, cost: object) -> Module:
        facts.periods.update(carried_periods(module))
        return packing(RESIDUAL, facts).run(module, cost)

    return replace(packing(RESIDUAL, facts), run=run)


def by_seconds(step: Pass[Callable[[Module], float]]) -> Pass[CodeCost]:
    """A pass that compares whole modules, by Rotom's prices."""
    return replace(step, run=lambda module, cost: step.run(module, partial(code_seconds, costs=cost.vectors)))


PASSES: tuple[Pass[CodeCost], ...] = (
    cse.PASS, dce.PASS, factor_sums.PASS, fold_splats.PASS, hoist_invariants.PASS, inverse_products.PASS,
    merge_maps.PASS, merge_matrices.PASS,
    normalize_polynomials.PASS, by_seconds(giant_products.PASS), by_seconds(pack_products.PASS), reassociate.PASS, share_inputs.PASS, share_outputs.PASS, split_products.splitting(4, 2), unroll.PASS, public_factors.factor_pass(),
    peeling(RESIDUAL), flattening(RESIDUAL, 12), matching(RESIDUAL), unrolling(RESIDUAL), packing_all(), tuning(RESIDUAL),
    bootstrap_pass(RESIDUAL, BootstrapPrices(), magnitudes), interleave_rows.interleaving(2),
)  # fmt: skip


def expanded(module: Module, techniques: Techniques = UNPACKED) -> str:
    """With linear maps carried out as is cheapest by typical prices."""
    step = expanding(CHAIN, choose_strategies(module, techniques), hoisting=techniques.hoisting)
    return printed(run_passes(module, (step,)))


def outlined(module: Module) -> str:
    """A bootstrap expanded: how many of which operations at which level, in the order of first ones."""
    made = run_passes(module, (expanding(BOOTSTRAP, MapStrategies()), cse.PASS, dce.PASS))
    counts: dict[Level, Counter[str]] = {}
    for op in made.walk():
        for value in op.results[:1]:
            if isinstance(value.type, CipherType):
                counts.setdefault(value.type.level, Counter())[op.name] += 1
    return "\n".join(
        f"{level}: {', '.join(f'{number} {name}' for name, number in sorted(held.items()))}"
        for level, held in counts.items()
    )


def called(module: Module) -> str:
    """With bootstraps shared: of the body all, of procedures how many operations they have, and what they call."""
    made = run_passes(module, (expanding(BOOTSTRAP, MapStrategies(), shared_bootstraps=True), cse.PASS, dce.PASS))
    numbers = {op.result: n for n, op in enumerate(op for op in made.walk() if op.name == "procedure.define")}
    lines: list[str] = []

    def show(block: Block, indent: str, inside: bool) -> None:
        for op in block.ops:
            named = [f" {numbers[v]}" for v in (*op.operands[:1], *op.results) if v in numbers]
            if named or not inside:
                nested = f", {len(op.regions[0].block.ops)} operations" if op.name == "procedure.define" else ""
                ends = [f" at {v.type.level}" for v in op.results if isinstance(v.type, CipherType)]
                lines.append(f"{indent}{op.name}{''.join(named)}{nested}{''.join(ends)} {op.attrs or ''}".rstrip())
            for region in op.regions:
                show(region.block, indent + "  ", inside or op.name == "procedure.define")

    show(made.body, "", False)
    return "\n".join(lines)


def keys_at_once(module: Module) -> str:
    """What bootstraps in line read of keys: so many instructions, the rows that each reads, and those of one of its
    limbs, which are in memory at the same time; at the end the most of these."""
    made = run_passes(module, (expanding(BOOTSTRAP, MapStrategies()), cse.PASS, dce.PASS))
    code = emit_code(made, BOOTSTRAP, plan_keys(made, BOOTSTRAP))
    lines, most = Counter[str](), (0, "")
    for site in Walk(code, BOOTSTRAP, Domain()).sites(0):
        for parts in passes_of(site, BOOTSTRAP, code):
            at, rows, of_limb = parts[0].spec, sum(part.rows for part in parts), rows_of_limb(parts)
            name = f"{site.record.name} at {level_text(at.track, at.level)}"
            lines[f"{name}: {count_noun(len(parts), 'key')}, {rows} rows, {of_limb} of a limb"] += 1
            most = max(most, (of_limb, name), key=lambda found: found[0])
    return "\n".join([*(f"{times} x {line}" for line, times in lines.items()), f"at once: {most[0]} rows, {most[1]}"])


def levelled(plan: LevelPlan) -> str:
    """What is decided about levels; below what is written from it."""
    made = write_levels(plan, CHAIN if plan.scheme == "ckks" else BFV)
    return "\n".join(f"// {line}" for line in print_levels(plan).splitlines()) + "\n" + printed(made)


def laid_out(module: Module) -> str:
    """What the search decides on vectors of 16 slots; layouts in their notation first."""
    placed = assign_layouts(module, find_layouts(module, VECTOR_SLOTS, COST.vectors))
    values = [*zip(module.input_names, placed.inputs, strict=True)]
    values += [(op.name, op.result) for op in placed.body.ops if len(op.results) == 1]
    lines = [f"// {name}: {v.type.layout}" for name, v in values if isinstance(v.type, TensorType) and v.type.layout]
    return "\n".join([*lines, printed(placed)])


STEPS: Mapping[str, Callable[[Module], str]] = {
    **{step.name: lambda module, step=step: printed(run_passes(module, (step,), COST)) for step in PASSES},
    "expand": expanded,
    "expand-without-hoisting": lambda module: expanded(module, Techniques(complex_packing=False, hoisting=False)),
    "plan-loops": lambda module: printed(plan_loops(module, RESIDUAL, BootstrapPrices(), magnitudes(module))),
    "plan-loops-halo": lambda module: printed(
        plan_loops(module, RESIDUAL, BootstrapPrices(), magnitudes(module), mode=HALO)
    ),
    "refresh-ends": lambda module: printed(refresh_ends(module, {0: 0}, RESIDUAL, {0: 1}, iterations=1)),
    "state-reasons": lambda module: printed(state_reasons(module, RESIDUAL)),
    "bootstrap-outline": outlined,
    "bootstrap-calls": called,
    "keys-at-once": keys_at_once,
    "levels": lambda module: levelled(decide_levels(module)),
    "levels-at-once": lambda module: levelled(decide_levels(module, AT_ONCE)),
    "levels-bfv": lambda module: levelled(decide_levels_bfv(module)),
    "assign-layouts": laid_out,
}
assert ALL_OPS  # defines what tensor operations mean


@dataclass(frozen=True)
class Case:
    """One program, before and after."""

    title: str
    before: str
    after: str


def read(name: str) -> list[Case]:
    """The cases of a step."""
    cases = []
    for text in (HERE / f"{name}.txt").read_text().split("\n\n"):
        title, _, body = text.strip().partition("\n")
        before, _, after = body.partition(ARROW)
        cases.append(Case(title.removeprefix("// "), before, after))
    return cases


def write(name: str, cases: list[Case]) -> None:
    """The cases of a step, as they come out now."""
    texts = [f"// {case.title}\n{case.before}{ARROW}{result(name, case.before)}" for case in cases]
    (HERE / f"{name}.txt").write_text("\n\n".join(texts) + "\n")


def result(name: str, before: str) -> str:
    """What a step makes of a text."""
    module = parsed(before)
    verify(module)
    return STEPS[name](module).strip()


def parsed(text: str) -> Module:
    """The module of a text, its sources numbers in a row."""
    absent = parse_module(text).absent
    arrays = {digest: _numbers(*about) for digest, about in absent.items()}
    return parse_module(text, sources=arrays)


def printed(module: Module) -> str:
    """A text for people."""
    return print_module(module, aliases=True)


def _numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    return (1.0 + np.arange(np.prod(shape, dtype=int))).astype(dtype).reshape(shape)

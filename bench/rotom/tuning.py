"""What the constants of the search for layouts do: each halved and doubled, the others as they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from math import exp, log
from typing import Any

from bench.rotom.measuring import options
from bench.rotom.workloads import Workload
from bench.rows import Row
from latticework.compiler.layout_choice import USUAL_DEPTH, Seconds, find_layouts, slots_needed
from latticework.compiler.pass_order import TENSOR_PASSES
from latticework.compiler.trace_arrays import to_tensors
from latticework.ir import Module, run_passes
from latticework.plan.cost import CostModel
from latticework.plan.cost.networks import NETWORKS
from latticework.tensor.layout.search import Decisions
from latticework.tensor.layout.tuning import USUAL, LayoutTuning

FACTORS = (0.5, 2.0)


def tuning(chosen: Sequence[Workload], slots: int, on_case: Callable[[str], None]) -> Iterator[Row]:
    """Predicted seconds of the layouts that are found, by those with all constants as they are."""
    on_case("as they are")
    modules = {w.name: _module(w, slots) for w in chosen}
    _searched(modules, slots, USUAL)  # what loop nests keep is there for all that follow
    usual, took = _searched(modules, slots, USUAL)
    for name, found in usual.items():
        yield Row(name, "predicted, constants as they are", "s", found.seconds, details=_facts(found))
    for field in fields(LayoutTuning):
        value = getattr(USUAL, field.name)
        for factor in FACTORS:
            other = type(value)(value * factor)
            on_case(f"{field.name} = {other:g}")
            others, seconds = _searched(modules, slots, replace(USUAL, **{field.name: other}))
            ratios = {name: others[name].seconds / found.seconds for name, found in usual.items()}
            different = {name: _facts(others[name]) | {"ratio": round(r, 4)} for name, r in ratios.items() if r != 1}
            yield Row(
                f"{field.name} = {other:g} instead of {value:g}", "predicted time by that of the constants as they are",
                "x", exp(sum(map(log, ratios.values())) / len(ratios)),
                details={"processor time of the search": round(seconds / took, 3), "different": different},
            )  # fmt: skip


def _module(workload: Workload, slots: int) -> Module:
    given = options(workload.name, slots)
    return run_passes(to_tensors(given["program"], given["weights"], None), TENSOR_PASSES)


def _searched(modules: dict[str, Module], slots: int, constants: LayoutTuning) -> tuple[dict[str, Decisions], float]:
    """What is found for each program, and the processor time of all."""
    model = CostModel.load()
    started = time.process_time()
    found = {
        name: find_layouts(
            module, min(slots, slots_needed(module)),
            Seconds(model, 2 * slots, USUAL_DEPTH, bits_a_second=NETWORKS["lan"]), tuning=constants,
        )
        for name, module in modules.items()
    }  # fmt: skip
    return found, time.process_time() - started


def _facts(found: Decisions) -> dict[str, Any]:
    (end,) = [ending for ending in found.pareto if ending.chosen][:1] or [None]
    return {"placements priced": found.explored} | (
        {} if end is None else {"levels": end.levels, "ciphertexts": end.ciphertexts}
    )

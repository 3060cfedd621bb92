"""Loops whose bodies spend levels, for tests of where they bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bench.halo.synthetic import MEAN, exponents_of, synthetic  # noqa: F401  (what tests plan)
from bench.placement.published import RESIDUAL
from latticework.compiler.levels import decide_levels
from latticework.compiler.levels.bootstrap_calls import ciphertexts
from latticework.compiler.levels.loops.executed import bootstraps_run
from latticework.compiler.levels.loops.plan_loops import OURS, plan_loops
from latticework.ir import Module, Op, interpret, verify
from latticework.ir.dialects.vec_dialect import VecType


class Published:
    """About the latencies of HALO's tables 2 and 3, in seconds; one price for real and complex bootstraps."""

    OPERATIONS: ClassVar = {
        "vec.mul": 2.5e-3,
        "vec.rotate": 2e-3,
        "vec.linear_transform": 20e-3,
        "vec.polynomial": 20e-3,
    }

    def operation(self, op: Op, level: int) -> float:
        """Dearer at higher levels."""
        return self.OPERATIONS.get(op.name, 0.1e-3) * (0.2 + 0.05 * level)

    def bootstrap(self, target: int, *, real: bool, count: int = 1) -> float:
        """Dearer to higher targets."""
        assert real in (True, False)
        return count * (0.239 + 0.014 * target)


def planned(module: Module, mode: str = OURS, residual: int = RESIDUAL) -> Module:
    """The module with bootstraps."""
    return plan_loops(module, residual, Published(), exponents_of(module), mode=mode)


def inputs_for(module: Module, trips: int | None, seed: int = 0) -> list[object]:
    """Random vectors for the inputs of a module, and the trip count."""
    rng = np.random.default_rng(seed)
    shapes = [
        (v.type.count, v.type.slots)[v.type.count == 1 :] if isinstance(v.type, VecType) else None
        for v in module.inputs
    ]
    return [trips if shape is None else rng.uniform(-1, 1, shape) for shape in shapes]


def check_plan(
    before: Module, after: Module, residual: int, trips: Sequence[int | None] = (None,), starts: list[int] | None = None
) -> list[int]:
    """The plan means what the module does and has its levels; returns the bootstraps that it runs, for each count."""
    verify(after)
    plan = decide_levels(after, residual=residual, starts=starts)
    assert all(each.copies is None for each in plan.loops.values())
    assert all(state is None or state.level >= -residual for state in plan.states.values())
    found = []
    for count in trips:
        inputs = inputs_for(before, count)
        seen: list[object] = []
        got = interpret(after, inputs, on_value=lambda value, _array, seen=seen: seen.append(value))
        for have, want in zip(got, interpret(before, inputs), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-7, atol=1e-9)
        names = dict(zip(before.input_names, inputs, strict=True))
        run = bootstraps_run(after, {name: value for name, value in names.items() if isinstance(value, int)})
        firsts = [v.owner for v in seen if getattr(v.owner, "name", "") == "vec.bootstrap" and v.index == 0]
        assert run == sum(group.number for op in firsts for group in ciphertexts(op))
        found.append(run)
    return found

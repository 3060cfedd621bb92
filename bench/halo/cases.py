"""One program, compiled for a bootstrapping set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw
from bench.halo.data import Inputs, inputs_of
from bench.halo.programs import PROGRAMS
from bench.halo.published import shown_size
from bench.halo.scores import Outputs, Quality, outputs_of, quality
from bench.halo.stages import StageClock
from latticework.plan.analysis.estimate import CostEstimate, estimate
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import write_plan
from latticework.plan.parameters import BOOTSTRAP_SETS

Size = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A program on the paper's data.

    size      iterations of its loops, the outer one's first: known to the compiler, or the most that calibration sees
    chosen    name of the bootstrapping set
    run_time  numbers of iterations are arguments of a run
    samples   fewer than the paper has, for tests
    """

    name: str
    size: Size
    chosen: str
    precision_bits: float = 12.0
    run_time: bool = False
    samples: int | None = None

    def __str__(self) -> str:
        return self.name + (f" {shown_size(self.size)}" if len(self.size) > 1 else "")

    @property
    def inputs(self) -> Inputs:
        """What is encrypted."""
        return inputs_of(self.name, self.samples)

    def trips(self, size: Size | None = None) -> dict[str, int]:
        """Numbers of iterations by parameter."""
        return dict(zip(PROGRAMS[self.name].trips, size or self.size, strict=True))

    def expected(self, size: Size) -> list[npt.NDArray[np.float64]]:
        """The same program in the clear."""
        return outputs_of(PROGRAMS[self.name].text(**self.inputs, **self.trips(size)))


@dataclass(frozen=True)
class CompiledCase:
    """A compiled program.

    seconds  of processor time, by stage (`bench.halo.stages`)
    """

    case: Case
    model: lw.Model
    seconds: dict[str, float]

    @property
    def plan_bytes(self) -> int:
        """Of its file."""
        return len(write_plan(self.model.plan) or b"")

    def cost(self, costs: CostModel, size: Size | None = None) -> CostEstimate:
        """What a run of so many iterations is predicted to take."""
        return estimate(self.model.plan, costs, self.case.trips(size) if self.case.run_time else None)

    def share(self, cost: CostEstimate) -> float:
        """Of the time of a run, that bootstraps are predicted to take."""
        return 0.0 if cost.bootstraps is None else cost.bootstraps.seconds / cost.warm_seconds

    def targets(self, cost: CostEstimate) -> dict[int, int]:
        """Bootstraps that are run to each level above the floor."""
        found: Counter[int] = Counter()
        floor = self.model.plan.chain.floor
        for call in () if cost.bootstraps is None else cost.bootstraps.calls:
            found[call.kind.end.level - floor] += call.times * call.kind.count
        return dict(sorted(found.items()))

    def quality(self, size: Size, found: Outputs, bounds: Sequence[float]) -> Quality:
        """Of outputs after so many iterations."""
        return quality(self.case.name, self.case.inputs, found, self.case.expected(size), bounds)

    def arguments(self, size: Size) -> dict[str, Any]:
        """Inputs of a simulated run."""
        return {**self.case.inputs, **(self.case.trips(size) if self.case.run_time else {})}


def compiled_case(case: Case) -> CompiledCase:
    """Compile a program.

    raises  UserError and its kinds, as compiling does
    """
    program, inputs = PROGRAMS[case.name].as_program(run_time=case.run_time), case.inputs
    data = {**inputs, **case.trips()} if case.run_time else inputs
    clock = StageClock()
    model = lw.compile(
        program, weights=() if case.run_time else case.trips(), example=inputs, calibrate=data,
        precision_bits=case.precision_bits, bootstrap_set=case.chosen, insecure=BOOTSTRAP_SETS[case.chosen].insecure,
        on_event=clock, progress=False,
    )  # fmt: skip
    return CompiledCase(case, model, clock.stop())

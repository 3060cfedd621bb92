"""The quick probe: a few operations and kernels of the core, timed in a third of a second.

Each is the best of a few rounds by the processor time of the thread, so that other work on the machine counts little.
Operations are measured in turn, as `latticework measure` does; kernels in a ring beyond the caches show how prices grow
there.
"""

from __future__ import annotations

import datetime
from typing import Any

from latticework.plan.machine.measured_operations import MeasuredChain, operation_times
from latticework.plan.machine.processor import name_backend, name_processor
from latticework.plan.machine.timing import round_seconds
from latticework.plan.machine.units import UnitTimes
from latticework.values.cores import count_cores

CHAINS = ((MeasuredChain(1 << 12, 2, 1), 8), (MeasuredChain(1 << 14, 4, 1), 4))  # with rounds
DEGREES = (1 << 14, 1 << 16)  # of the kernels
KERNELS = {"ntt": "ntt", "pointwise": "mul", "plain_mac": "mul_add", "expand": "expand_uniform"}  # by unit
REPEATS = 3
FRESH_BYTES = 16 << 20


def probe_machine(backend: str = "auto") -> dict[str, Any]:
    """Measure; returns the content of a cost table with a few prices, on one thread."""
    ops = [
        {"op": op, "ring_degree": shape.ring_degree, "q_limbs": shape.q_limbs, "p_limbs": shape.p_limbs,
         "digits": len(shape.digit_limbs), "target": shape.target, "seconds": round_seconds(seconds)}
        for chain, rounds in CHAINS
        for op, shape, seconds in operation_times(chain, backend, 1, rounds)
    ]  # fmt: skip
    units = []
    for degree in DEGREES:
        times = UnitTimes(degree, backend, 1, REPEATS)
        found = {unit: times.row_seconds(kernel) for unit, kernel in KERNELS.items()}
        found |= {"fresh_byte": times.fresh_byte(FRESH_BYTES)} if degree == DEGREES[0] else {}
        units += [
            {"unit": unit, "ring_degree": degree, "seconds": round_seconds(seconds)} for unit, seconds in found.items()
        ]
    return {
        "format": 1,
        "machine": {"cpu": name_processor(), "cores": count_cores()},
        "date": datetime.date.today().isoformat(),
        "command": "quick probe",
        "source": "measured",
        "backend": name_backend(backend),
        "threads": 1,
        "units": units,
        "ops": ops,
    }

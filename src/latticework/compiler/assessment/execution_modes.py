"""The modes of computing a run of a program: exactly, with polynomials, with modelled noise, and encrypted.

Each gives the outputs, in the shapes of one run, and the values in between that have a position in the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.assessment.given_rows import DataRows, OneRun
from latticework.compiler.assessment.reference_run import Values
from latticework.errors import RangeError
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.simulate import simulate
from latticework.plan.schema.schema import Plan, SecretInput
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server
from latticework.values.packing.slot_arrays import as_value

Array = npt.NDArray[Any]
MOST_SLOTS = 1 << 20  # of a value, in all runs that are simulated side by side
MOST_RUNS = 32


@dataclass(frozen=True)
class ModeRun:
    """A run, computed in one mode."""

    run: OneRun
    outputs: list[Array]
    values: Values


@dataclass(frozen=True)
class OverflowingRun:
    """A run that cannot be simulated: a value leaves its modulus."""

    run: OneRun
    error: RangeError


def simulate_runs(
    plan: Plan, runs: Sequence[OneRun], noise: np.random.Generator, on_done: Callable[[int], None]
) -> Iterator[ModeRun | OverflowingRun]:
    """Simulate runs with noise, several side by side.

    on_done  called with the number of runs that are done
    """
    slots = max(i.pack.slots * i.pack.count for i in plan.client.secret_inputs)
    at_once = max(1, min(MOST_RUNS, MOST_SLOTS // slots))
    for first in range(0, len(runs), at_once):
        yield from _side_by_side(plan, runs[first : first + at_once], noise)
        on_done(min(first + at_once, len(runs)))


def _side_by_side(plan: Plan, runs: Sequence[OneRun], noise: np.random.Generator) -> Iterator[ModeRun | OverflowingRun]:
    values: list[Values] = [{} for _ in runs]

    def note(register: int, slots: Array) -> None:
        if register in plan.watch:
            position, factor = plan.watch[register], plan.factors.get(register, 1.0)
            tensor = plan.tensors[position]
            differs = slots.ndim > (2 if tensor.pack.count > 1 else 1)  # there is an axis of runs
            unpacked = factor * tensor.unpack_values(np.real(slots), plan.client.rows, len(runs) if differs else None)
            for number, values_at in enumerate(values):
                values_at.setdefault(position, []).append(unpacked[number] if differs else unpacked)

    inputs = [
        np.stack([run.inputs[spec.name] for run in runs])
        if isinstance(spec, SecretInput)
        else runs[0].inputs[spec.name]
        for spec in plan.client.inputs
    ]
    try:
        outputs = simulate(plan, inputs, noise=noise, on_value=note)
    except RangeError as error:
        if len(runs) == 1:
            yield OverflowingRun(runs[0], error)
            return
        for half in (runs[: len(runs) // 2], runs[len(runs) // 2 :]):
            yield from _side_by_side(plan, half, noise)
        return
    for number, run in enumerate(runs):
        yield ModeRun(run, [stack[number] for stack in outputs], values[number])


def run_encrypted(
    plan: Plan, client: Client, server: Server, given: DataRows, rows: Sequence[int], on_done: Callable[[int], None]
) -> Iterator[ModeRun]:
    """Run rows encrypted by a client and a server, one run after the other; the client decrypts what is watched."""
    decryptor = client._decryptors[0]
    for first in range(0, len(rows), given.per_run):
        chosen = rows[first : first + given.per_run]
        checked = client.checked((), given.take(chosen))
        (run,) = given.runs(chosen, client)
        values: Values = {}

        def note(register: int, arrays: Any, values: Values = values) -> None:
            position = plan.watch[register]
            array = arrays if isinstance(arrays, list) else [arrays]
            slots = as_value(np.stack([np.real(decryptor.decrypt(c)) for c in array]))
            unpacked = plan.factors.get(register, 1.0) * plan.tensors[position].unpack_values(slots, plan.client.rows)
            values.setdefault(position, []).append(unpacked)

        results = server.run(client.encrypt_checked(checked), watch=list(plan.watch), on_watch=note)
        outputs = [client.decrypted(o, results.tensors[o.name]).reveal() for o in plan.client.outputs]
        yield ModeRun(run, outputs, values)
        on_done(min(first + given.per_run, len(rows)))

"""One exported program beside ours and NumPy."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw
from bench.export.programs import Case
from bench.peers.environments import variables

ROUNDED = 1e-6  # of a result's largest value, that both may be off by besides


class Failed(Exception):
    """An exported program that did not run; the message is its last line."""


@dataclass(frozen=True)
class Agreement:
    """How far results are apart, at most, over the bound that our model states.

    openfhe, ours  from NumPy;  apart  from each other
    seconds        that OpenFHE's program took, keys included
    """

    bound: float
    openfhe: float
    ours: float
    apart: float
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether all are within the stated bound of each other."""
        return max(self.openfhe, self.ours) <= self.bound and self.apart <= 2 * self.bound


def run_exported(folder: Path, python: Path, inputs: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """The results of an exported program, by name.

    raises  Failed
    """
    np.savez(folder / "inputs.npz", **inputs)
    command = [str(python), str(folder / "program.py"), str(folder / "inputs.npz"), str(folder / "results.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables())
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or ["nothing said"])[-1])
    with np.load(folder / "results.npz") as found:
        return dict(found)


def compare(case: Case, folder: Path, python: Path) -> Agreement:
    """Compile, export, and run by OpenFHE, by ours and in the clear.

    raises  Failed
    """
    model = lw.compile(case.program, **case.options)
    model.export("openfhe", folder)
    started = time.perf_counter()
    theirs = run_exported(folder, python, dict(case.inputs))
    seconds = time.perf_counter() - started
    client = model.client()
    server = model.server(client.keygen().public())
    ours = list(flattened(client.decrypt(server(client.encrypt(**case.inputs)))))
    wanted, found = list(flattened(case.wanted())), list(theirs.values())
    bounds = [min(o.error_bound, max(o.usual_error, 0.0) or o.error_bound) for o in model.plan.client.outputs]
    worst = max((b for b in bounds if isfinite(b)), default=0.0)
    size = max(float(np.max(np.abs(array))) for array in wanted)
    exact = bool(model.plan.chain.plain_modulus)
    return Agreement(
        0.0 if exact else worst + ROUNDED * size,
        farthest(found, wanted),
        farthest(ours, wanted),
        farthest(ours, found),
        seconds,
    )


def farthest(found: list[Any], wanted: list[Any]) -> float:
    """The largest difference between two lists of arrays."""
    pairs = zip(found, wanted, strict=True)
    return max(float(np.max(np.abs(np.reshape(a, np.shape(b)) - b))) for a, b in pairs)


def flattened(value: Any) -> Iterator[npt.NDArray[Any]]:
    """The arrays of a nested result, in order."""
    if isinstance(value, dict):
        for each in value.values():
            yield from flattened(each)
    elif isinstance(value, tuple) or (isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value)):
        for each in value:
            yield from flattened(each)
    else:
        yield np.asarray(value.reveal() if hasattr(value, "reveal") else value, dtype=np.float64)

"""Data by rows: whatever users give, as rows that can be computed, left out, and named by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import ShapeError
from latticework.lazy_dataclass import dataclass
from latticework.model import check_inputs
from latticework.plan.client_steps.run_steps import raw_array
from latticework.plan.schema.schema import ClientSpec, IndexInput, SecretInput
from latticework.runtime.client.client import Client
from latticework.runtime.client.user_names import inputs_by_name
from latticework.runtime.exchange.row_batches import of_run
from latticework.values.inputs.foreign_arrays import as_array

ROW, RUN = "row", "run"
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class OneRun:
    """Inputs of one run of the plan, by name, and the rows in it; copies that fill a batch come after them."""

    inputs: dict[str, Any]
    rows: tuple[int, ...]


class DataRows:
    """The data.

    unit   "row" of the inputs that hold any number of them; else "run": whole inputs, one a run
    count  how many
    """

    def __init__(self, spec: ClientSpec, data: Any, named: dict[str, Any]) -> None:
        arrays = () if isinstance(data, dict) else data if isinstance(data, tuple) else (data,)
        given = inputs_by_name(spec, arrays, {**data, **named} if isinstance(data, dict) else named, linked=True)
        self.spec, self._given = spec, given
        shapes = _shapes(spec)
        for name in shapes:
            given[name] = _array(spec, name, given[name], shapes[name])
        stacked = [n for n, shape in shapes.items() if np.ndim(given[n]) == len(shape) + 1]
        batched = _batched_inputs(spec)
        self.unit = RUN if stacked or not batched else ROW
        self._differing = stacked or batched
        if not self._differing:
            name = next(iter(shapes))
            given[name], self._differing = given[name][None], [name]
        counts = {name: len(given[name]) for name in self._differing}
        self.count = next(iter(counts.values()))
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name}: {number}" for name, number in counts.items())
            raise ShapeError(
                f"accuracy: inputs of program {spec.name} have different numbers of {self.unit}s ({listed}); give "
                "equally many"
            )
        if not self.count:
            raise ShapeError(f"accuracy: the data of program {spec.name} hold no {self.unit}s; give at least one")

    @property
    def per_run(self) -> int:
        """Rows that one run of the plan has room for."""
        return self.spec.batch.rows if self.unit == ROW and self.spec.batch is not None else 1

    def take(self, rows: Sequence[int]) -> dict[str, Any]:
        """Return the client's arguments for these rows, by name."""
        return {n: v[list(rows)] if n in self._differing else v for n, v in self._given.items()}

    def runs(self, rows: Sequence[int], client: Client | None = None) -> list[OneRun]:
        """The rows as runs of the plan.

        client  that checks what it accepts; None: values outside accepted ranges are taken, too
        raises  as `Client.encrypt` for what it refuses, without a client for what is no finite number
        """
        if not rows:
            return []
        if client is None:
            values, extent = check_inputs(self.spec, (), self.take(rows))
            named = dict(zip((i.name for i in self.spec.inputs), values, strict=True))
        else:
            checked = client.checked((), self.take(rows))
            named, extent = checked.values, checked.extent
        count = 1 if extent is None else extent.runs
        per_run = self.per_run
        return [
            OneRun(
                {i.name: _of_run(i, named[i.name], run) for i in self.spec.inputs},
                tuple(rows[run * per_run : (run + 1) * per_run]),
            )
            for run in range(count)
        ]

    def join_outputs(self, runs: Sequence[OneRun], outputs: Sequence[Sequence[Array]]) -> tuple[Array, ...]:
        """Every output of all runs, (rows, ...), or of rows along its batch axis.

        outputs  of every run, its outputs
        """
        if self.unit == RUN:
            return tuple(np.stack(arrays) for arrays in zip(*outputs, strict=True))
        assert self.spec.batch is not None
        result = []
        for axis, arrays in zip(self.spec.batch.axes, zip(*outputs, strict=True), strict=True):
            pairs = zip(arrays, runs, strict=True)
            result.append(np.concatenate([a.take(range(len(run.rows)), axis) for a, run in pairs], axis))
        return tuple(result)

    def axis(self, output: int) -> int:
        """Return the axis of a joined output along which the rows lie."""
        return self.spec.batch.axes[output] if self.unit == ROW and self.spec.batch is not None else 0


def _of_run(spec: SecretInput | IndexInput, value: Any, run: int) -> Any:
    return value if isinstance(spec, IndexInput) else of_run(value, spec.shape, run)


def _shapes(spec: ClientSpec) -> dict[str, tuple[int, ...]]:
    """Return the shapes of what the owner gives for one run, by name; without run-time integers."""
    shapes = {i.name: i.shape for i in spec.secret_inputs}
    if spec.owner is not None:
        shapes |= {each.name: each.shape for each in spec.owner.given}
    return {name: shapes[name] for name in spec.given_names if name in shapes}


def _batched_inputs(spec: ClientSpec) -> list[str]:
    """Names of the inputs of the owner that hold any number of rows."""
    inputs = () if spec.batch is None else spec.batch.inputs
    return list(inputs) if spec.owner is None else spec.owner.given_for(inputs)


def _array(spec: ClientSpec, name: str, value: Any, shape: tuple[int, ...]) -> Array:
    owner = None if spec.owner is None else next((g for g in spec.owner.given if g.name == name), None)
    if isinstance(value, list):
        _check_alike(spec, name, value)
    result = as_array(value) if owner is None else raw_array(spec.name, owner, value)
    if result.shape[result.ndim - len(shape) :][1:] != shape[1:] or result.ndim not in (len(shape), len(shape) + 1):
        raise ShapeError(
            f"accuracy: program {spec.name}, input {name} has shape {result.shape}, the program was compiled for "
            f"{shape}; give rows, or a stack, of that"
        )
    return result


def _check_alike(spec: ClientSpec, name: str, rows: list[Any]) -> None:
    shapes = [np.shape(row) if not isinstance(row, list) else (len(row),) for row in rows]
    usual = max(set(shapes), key=shapes.count) if shapes else ()
    others = [number for number, shape in enumerate(shapes) if shape != usual]
    if others:
        raise ShapeError(
            f"accuracy: program {spec.name}, input {name}: rows {', '.join(map(str, others[:8]))} have other shapes "
            f"than the others, {shapes[others[0]]} and {usual}; give rows of one shape"
        )

"""Client steps in a compilation: data passed through them, and columns scaled to their ranges."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.assemble import INPUT_MARGIN
from latticework.compiler.retraining.old_model import OldModel
from latticework.errors import TraceError
from latticework.frontend.calibration.calibration_data import Sample
from latticework.frontend.programs.array_program import Program
from latticework.frontend.recording.annotations import Secret
from latticework.functions.approximation.real_functions import function_of
from latticework.ir import Module
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.lines import standing_at
from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps import Affine, OwnerArray, OwnerStages
from latticework.plan.client_steps.run_steps import prepare
from latticework.plan.client_steps.step import Span
from latticework.plan.files.check_file import mixes_rows
from latticework.plan.schema.schema import ClientSpec
from latticework.tensor.ops.apply import APPLY

LEAST_GAIN = 8.0  # times that columns of imported models differ, in offset and range, before they are scaled unasked
CONSTANT = 1e-12  # a range that is less than this part of its numbers is that of a constant


@dataclass(frozen=True)
class ColumnScaling:
    """One input of a program: its columns are middle + half * what is encrypted.

    given  the step of an old client that this is
    """

    name: str
    middle: npt.NDArray[np.float64]
    half: npt.NDArray[np.float64]

    given: Affine | None = None

    @property
    def step(self) -> Affine:
        """Return the step that the owner applies before encryption."""
        return self.given or Affine(OwnerArray.of(1.0 / self.half), OwnerArray.of(-self.middle / self.half))

    def as_of(self, old: OldModel, stages: OwnerStages, samples: list[Sample]) -> ColumnScaling:
        """The scaling that the client of an old model has, where all samples lie in what that accepts; else this one.

        stages  what else the owner does
        """
        columns = np.concatenate([np.reshape(sample[self.name], (-1, *self.half.shape)) for sample in samples])
        step = old.column_scaling(stages, self.name, columns)
        if step is None:
            return self
        half = 1.0 / step.scale.array
        return ColumnScaling(self.name, -step.offset.array * half, half, step)


def stages_of(program: Program, owner: OwnerStages | None) -> OwnerStages:
    """Those that are asked for, or else those that the program brings."""
    return owner or program.owner or OwnerStages()


def through_stages(program: Program, stages: OwnerStages, data: Any) -> Any:
    """Calibration data, or examples, as the program itself takes them.

    raises  TraceError for other inputs than the owner's; ShapeError, DtypeError or RangeError for values
    """
    if data is None or not stages.before:
        return data
    names = stages.given_for(p.name for p in program.inputs if isinstance(p.kind, Secret))
    if isinstance(data, Mapping):
        given = dict(data)
    else:
        arrays = data if isinstance(data, tuple) else (data,)
        if len(arrays) != len(names):
            raise TraceError(
                f"calibrate: {len(arrays)} arrays for the inputs {', '.join(names)} of program {program.name}; give "
                "one for each, as a tuple or a dictionary",
                at=program.loc,
            )
        if len(names) > 1 and not stages.is_in_order(p.name for p in program.inputs if isinstance(p.kind, Secret)):
            raise TraceError(
                f"calibrate: the owner's steps read {', '.join(names)} in another order than they declare them; give "
                "a dictionary",
                at=program.loc,
            )
        given = dict(zip(names, arrays, strict=True))
    missing = [name for name in names if name not in given]
    if missing:
        raise TraceError(f"calibrate: missing inputs: {', '.join(missing)}", at=program.loc)
    return prepare(stages, program.name, given)


def find_scalings(
    program: Program,
    module: Module,
    samples: list[Sample],
    feedback: Mapping[int, int],
    asked: bool | None,
    stages: OwnerStages,
) -> list[ColumnScaling]:
    """Inputs whose columns are to be scaled, by samples, and of linear programs by what the owner's steps can make:
    rows asked about later may have a category, or a term, that no sample has.

    asked  by the user: all inputs; not asked, those of imported models that are rows of unlike columns, if there are as
           many rows as columns: with fewer, nearly every other row is beyond the range of some column. Of trees that
           mark rows in doubt, wherever columns differ at all: what leaves its own range looks decided there, and is not
    """
    if asked is False or (asked is None and not program.scales_columns):
        return []
    result = []
    has_functions = any(op.spec is APPLY.spec for op in module.walk())  # fitted to what samples reach, and wrong beyond
    is_marked = any(op.spec is APPLY.spec and function_of(op.attrs["function"]).told for op in module.walk())
    taken = set(feedback.values())
    for number, (name, value) in enumerate(zip(module.input_names, module.inputs, strict=True)):
        if not isinstance(value.type, TensorType) or not value.type.shape or number in taken:
            continue
        columns = np.concatenate([np.reshape(sample[name], (-1, value.type.shape[-1])) for sample in samples])
        low, high = columns.min(0), columns.max(0)
        seen = low.min(), high.max()
        low, high = _widen(low, high, None if has_functions else stages.image_of(name))
        size = np.maximum(np.abs(low), np.abs(high))
        varies = high - low > CONSTANT * size
        least = INPUT_MARGIN * np.maximum(size, 1.0) / (1.0 + 2 * INPUT_MARGIN)  # as an unscaled constant has
        half = np.where(varies, (high - low) / 2, least)
        gain = size.max() / half[varies].min() if varies.any() else 1.0
        is_known = len(value.type.shape) <= 2 and len(columns) >= columns.shape[1]
        differ = bool(np.any(low != low[0]) or np.any(high != high[0]))
        is_beyond = low.min() < seen[0] or high.max() > seen[1]
        if asked or (is_known and (gain >= LEAST_GAIN or is_beyond or (is_marked and differ))):
            result.append(ColumnScaling(name, np.where(varies, (low + high) / 2, low), half))
    return result


def _widen(
    low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], image: Span | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Ranges of columns with the ends of what the owner's steps make, where these are known."""
    if image is None:
        return low, high
    least, most = (np.reshape(end, (-1, len(low))) for end in image)
    least, most = least.min(axis=0), most.max(axis=0)
    is_known = np.isfinite(least) & np.isfinite(most)
    return np.where(is_known, np.minimum(low, least), low), np.where(is_known, np.maximum(high, most), high)


def with_scaled_columns(program: Program, scalings: list[ColumnScaling]) -> Program:
    """The same program on scaled columns."""
    changed = copy.copy(program)

    def function(*args: Any, **kwargs: Any) -> Any:
        bound = program.signature.bind(*args, **kwargs)
        for each in scalings:
            with standing_at(program.loc):
                bound.arguments[each.name] = bound.arguments[each.name] * each.half + each.middle
        return program.function(*bound.args, **bound.kwargs)

    changed.function = function
    return changed


def scaled_samples(samples: list[Sample], scalings: list[ColumnScaling]) -> list[Sample]:
    """Calibration data with scaled columns."""
    steps = {each.name: each.step for each in scalings}
    return [{n: steps[n].apply(value) if n in steps else value for n, value in s.items()} for s in samples]


def with_stages(spec: ClientSpec, stages: OwnerStages) -> ClientSpec:
    """A client that computes them; without any number of rows where a step brings rows together."""
    if not stages:
        return spec
    batch = spec.batch
    if batch is not None and batch.inputs and mixes_rows(stages, spec, batch):
        batch = None
    return replace(spec, batch=batch, owner=stages)

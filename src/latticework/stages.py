"""What the stages of the pipeline hand to each other, where that is more than a module."""

from __future__ import annotations

from dataclasses import dataclass

from latticework.frontend.calibrate import Approximation as Fitted
from latticework.ir import Loc, Module, Value
from latticework.ops.lower import PlacedTensor
from latticework.plan.emit import Code
from latticework.plan.keys import KeyManifest
from latticework.plan.pack import PackMap
from latticework.plan.placing import Placing


@dataclass(frozen=True)
class Traced:
    """A program as tensors: calibrated, its functions approximated.

    module   tensor + loop IR, outputs equal to NumPy's up to the approximations
    fitted   one record per approximated function
    shifts   of every output, how far the approximations move an element at most, on calibration data
    """

    module: Module
    fitted: list[Fitted]
    shifts: list[float]


@dataclass(frozen=True)
class Vectors:
    """A program as slot vectors.

    placed     tensor IR with layouts: the reference that runs beside the plan
    module     vec IR
    tensors    the program's tensors by position;  positions: which value of `placed` each is
    depth      levels it spends
    placing    why its tensors lie where they do;  lines  what the locations in that number
    """

    placed: Module
    module: Module
    tensors: list[PlacedTensor]
    positions: dict[Value, int]
    depth: int
    slots: int
    placing: Placing
    lines: tuple[Loc, ...]


@dataclass(frozen=True)
class Lowered:
    """A program as primitives for one modulus chain."""

    module: Module
    code: Code
    manifest: KeyManifest


@dataclass(frozen=True)
class PackedInput:
    """One encrypted input of a vec module that says itself how its values are packed.

    low, high  between which its values lie; None: as far as the scheme goes
    """

    name: str
    pack: PackMap
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PackedOutput:
    """One output of such a module.

    magnitude  the largest absolute value that is expected
    """

    name: str
    pack: PackMap
    magnitude: float = 0.0

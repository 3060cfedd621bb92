"""The order of stages and passes: the one place that knows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from latticework.errors import LevelError
from latticework.expand import expand
from latticework.frontend import Program, approximate, calibrate, trace
from latticework.frontend.calibrate import Approximation as Fitted
from latticework.frontend.samples import Sample
from latticework.ir import Module, PassEvent, Value, run_passes, verify
from latticework.keys import manifest, planned_keys
from latticework.layout import assign_layouts, room_needed
from latticework.levels import manage_levels, program_depth
from latticework.ops import ALL_OPS
from latticework.ops.lower import PlacedTensor, lower_to_vectors
from latticework.params import ModulusChain
from latticework.passes import cse, dce, fold_splats, normalize_polynomials
from latticework.plan.emit import Code, emit_code
from latticework.plan.keys import KeyManifest

TENSOR_PASSES = (cse.PASS, dce.PASS)
VECTOR_PASSES = (normalize_polynomials.PASS, fold_splats.PASS, cse.PASS, dce.PASS)
PRIMITIVE_PASSES = (cse.PASS, dce.PASS)

PLACEMENT_RULES = {op.spec.name: op.place for op in ALL_OPS if op.place is not None}
_ROOM = {op.spec.name: op.room for op in ALL_OPS}
OnEvent = Callable[[PassEvent], None]


@dataclass(frozen=True)
class Traced:
    """A program as tensors: calibrated, its functions approximated.

    module   tensor + loop IR, outputs equal to NumPy's up to the approximations
    fitted   one record per approximated function
    """

    module: Module
    fitted: list[Fitted]


@dataclass(frozen=True)
class Vectors:
    """A program as slot vectors.

    placed     tensor IR with layouts: the reference that runs beside the plan
    module     vec IR
    tensors    the program's tensors by position;  positions: which value of `placed` each is
    depth      levels it spends
    """

    placed: Module
    module: Module
    tensors: list[PlacedTensor]
    positions: dict[Value, int]
    depth: int
    slots: int


@dataclass(frozen=True)
class Lowered:
    """A program as primitives for one modulus chain."""

    module: Module
    code: Code
    manifest: KeyManifest


def to_tensors(program: Program, weights: object, example: object) -> Module:
    """Trace a program."""
    module = trace(program, weights, example)  # type: ignore[arg-type]
    verify(module)
    return module


def to_polynomials(module: Module, samples: list[Sample], on_event: OnEvent | None = None) -> Traced:
    """Calibrate a traced program and approximate its functions."""
    approximated, fitted = approximate(calibrate(module, samples))
    return Traced(run_passes(approximated, TENSOR_PASSES, on_event=on_event), fitted)


def to_vectors(module: Module, on_event: OnEvent | None = None) -> Vectors:
    """Lay tensors out and lower them to vectors."""
    room = room_needed(module, lambda op: _ROOM[op.name](op) if op.name in _ROOM else ())
    placed = assign_layouts(module, room, PLACEMENT_RULES)
    verify(placed)
    lowered, tensors, positions = lower_to_vectors(placed)
    vectors = run_passes(lowered, VECTOR_PASSES, on_event=on_event)
    return Vectors(placed, vectors, tensors, positions, program_depth(vectors), room.slots)


def to_primitives(vectors: Vectors, chain: ModulusChain, on_event: OnEvent | None = None) -> Lowered:
    """Levels, scales, primitives and keys for one chain."""
    if chain.main.top < vectors.depth:
        raise LevelError(f"the program spends {vectors.depth} levels, the chain has {chain.main.top}")
    managed = manage_levels(vectors.module, chain)
    verify(managed)
    module = run_passes(expand(managed, chain), PRIMITIVE_PASSES, on_event=on_event)
    keys = planned_keys(module)
    return Lowered(module, emit_code(module, chain, keys), manifest(module, keys, chain))

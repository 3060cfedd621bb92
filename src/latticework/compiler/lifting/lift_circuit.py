"""Lifting of a regular circuit to a program on arrays, if it is one."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.lanes.lane_graph import Graph
from latticework.compiler.lanes.lift import Lifted, lift_circuit
from latticework.compiler.lifting.check_equality import agrees
from latticework.compiler.lifting.emit_tensors import TensorEmitter
from latticework.compiler.lifting.formulas import LETTERS
from latticework.errors import UserError
from latticework.ir import Loc, Module
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.arguments import Argument, Result

MOST_NESTS = 64
LEAST_OPERATIONS = 3  # of the circuit, for each nest


@dataclass(frozen=True)
class LiftedProgram:
    """A circuit as tensor IR. formulas: what it computes, a line an array."""

    module: Module
    formulas: tuple[str, ...]


def lift(
    graph: Graph, arguments: Sequence[Argument], results: Sequence[Result], at: Loc | None = None
) -> LiftedProgram | None:
    """A circuit as a program on arrays; None if it is not regular.

    graph  as traced, not rewritten
    at     line that its operations get
    """
    lifted = lift_circuit(graph, arguments, results)
    if lifted is None or not _pays(lifted, graph):
        return None
    emitter = TensorEmitter(at or Loc.unknown())
    try:
        module = emitter.program(lifted, results)
    except UserError:  # an array that cannot be, such as one too large
        return None
    return LiftedProgram(module, tuple(emitter.formulas)) if agrees(module, graph, arguments, results) else None


def _pays(lifted: Lifted, graph: Graph) -> bool:
    """Whether nests are few beside the operations that they stand for, so that placing their arrays is worthwhile."""
    nests = [nest for stage in lifted.stages for nest in stage.nests]
    operations = len(graph.nodes) - graph.num_inputs
    few = len(nests) <= MOST_NESTS and len(nests) * LEAST_OPERATIONS <= operations
    return few and all(len(nest.extents) <= len(LETTERS) for nest in nests)

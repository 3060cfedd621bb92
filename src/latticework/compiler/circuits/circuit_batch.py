"""`compile(batch=)` of circuits: how wide vectors of one row are, so that the slots hold as many rows as are wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from latticework.compiler.circuits.choose_vectors import Candidate
from latticework.compiler.circuits.composition import SharedParameters
from latticework.compiler.lanes.lane_graph import INPUT, Graph
from latticework.compiler.options.compile_options import CompileOptions
from latticework.errors import UserError
from latticework.frontend import Circuit

LEAST = 1  # lanes of a row
WIDER = 3  # widths that are looked at where a batch fills the slots, from the least on, each twice the one before


def check_rows(circuit: Circuit, shared: SharedParameters, options: CompileOptions) -> None:
    """UserError where a circuit for batches has to do with the ciphertexts of others."""
    if options.rows is not None and (shared.chain is not None or shared.groups or options.expert.spare_levels):
        raise UserError(
            f"compile: batch= is given, and circuit {circuit.name} shares ciphertexts or parameters with others "
            "(like=, lanes= of a circuit, spare_levels=), whose numbers lie in lanes of one row: leave batch= out",
            at=circuit.loc,
        )


def of_best_width(
    graph: Graph, usual: int, rows: int | str | None, candidate_of: Callable[[int], Candidate]
) -> Candidate:
    """The vectors of one row that take least, as a part of the slots times the seconds of a run.

    usual  slots of the ring that a circuit gets, where nothing else is known;  rows  wanted, "fill" or None
    candidate_of  the best vectors of a width, or others that are better yet
    """
    if rows is None:
        return candidate_of(usual)
    least = _least_width(graph)
    if isinstance(rows, int):
        share = max(1, usual // rows)
        return candidate_of(max(least, share))
    widths = {min(usual, least << more) for more in range(WIDER)}
    return min(map(candidate_of, sorted(widths)), key=lambda candidate: candidate.seconds * candidate.vectors.slots)


def _least_width(graph: Graph) -> int:
    """A power of two that is wide enough for the groups that may not be spread over vectors, and for fixed lanes."""
    used_of = Counter(node.left for node in graph.nodes if node.code == INPUT)
    groups = list(enumerate(graph.groups))
    needed = [used_of[number] for number, group in groups if group.packing != "free" and not group.lanes]
    needed += [max(group.lanes) + 1 for _, group in groups if group.lanes]
    needed.append(sum(not isinstance(output, int) for output in graph.outputs))
    return 1 << (max(LEAST, *needed) - 1).bit_length()

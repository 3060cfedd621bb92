"""`compile(batch=)`: how many rows of a batch a run computes side by side, and a program's vectors for so many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from latticework.compiler.layout_choice import least_ring_degree
from latticework.compiler.options.compile_options import FILL, THROUGHPUT, CompileOptions
from latticework.compiler.pass_order import OnPassEvent
from latticework.compiler.passes.interleave_rows import interleaving
from latticework.compiler.stage_results import Vectors
from latticework.errors import LayoutError, UserError
from latticework.errors.rounded_numbers import write_value
from latticework.frontend import Circuit, Program
from latticework.ir import run_passes
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.parameters import MAX_RING_LOG2
from latticework.plan.schema.schema import Plan
from latticework.values.packing.interleaved_rows import interleave_rows


def least_rows(wanted: int | str | None) -> int:
    """How many rows vectors have to leave room for: 1 where they fill what is left, 0 without a batch."""
    return wanted if isinstance(wanted, int) else int(wanted is not None)


def with_rows(vectors: Vectors, rows: int, on_event: OnPassEvent | None = None) -> Vectors:
    """The vectors of a program for so many rows, a power of two, in every run."""
    if rows == 1:
        return vectors
    step = (interleaving(rows),)
    wide = {pack: interleave_rows(pack, rows) for pack in {*vectors.inputs, *vectors.outputs} if pack is not None}
    return replace(
        vectors,
        module=run_passes(vectors.module, step, on_event=on_event),
        flat=None if vectors.flat is None else run_passes(vectors.flat, step, on_event=on_event),
        inputs=tuple(None if pack is None else wide[pack] for pack in vectors.inputs),
        outputs=tuple(wide[pack] for pack in vectors.outputs),
        tensors=[replace(tensor, pack=interleave_rows(tensor.pack, rows)) for tensor in vectors.tensors],
        slots=vectors.slots * rows,
        rows=rows,
        one_row=replace(vectors, elements=None),
        elements=None,
    )


def rows_in_ring(vectors: Vectors, wanted: int | str, ring_degree: int) -> int:
    """Count the rows of a run in a ring in which vectors of one row bootstrap; 0 where it has no room for so many."""
    room = ring_degree // 2 // vectors.slots
    return room if wanted == FILL else wanted if isinstance(wanted, int) and wanted <= room else 0


def planned_for_rows(
    program: Program | Circuit,
    vectors: Vectors,
    options: CompileOptions,
    plan_of: Callable[[Vectors], Plan],
    *,
    least_degree: int | None = None,
) -> tuple[Vectors, Plan]:
    """The plan of a program for the rows of a batch that are asked for, and its vectors.

    Where they are to fill the slots, and for throughput, there are as many as the smallest ring that holds the program
    has room for.
    vectors  of one row
    plan_of  the best plan of vectors;  least_degree  of the ring that one row takes in any case, if it is known
    raises   LayoutError where no ring has room for so many; what `plan_of` raises
    """
    wanted, ring_degree, name, at = options.rows, options.ring_degree, program.name, program.loc
    most = (ring_degree or 1 << MAX_RING_LOG2) // 2
    if wanted == FILL:
        least = ring_degree or least_degree or least_ring_degree(vectors.depth)
        wide, plan = _fill_rows(vectors, max(1, least // 2 // vectors.slots), plan_of, options.on_event)
        if wide.rows == 1:
            raise _without_room(program, vectors, plan, plan_of)
        return wide, plan
    assert isinstance(wanted, int)
    if vectors.slots * wanted > most:
        room = most // vectors.slots
        ring = f"ring_degree={ring_degree}" if ring_degree else f"the largest ring, N={2 * most},"
        told = "1 slot" if vectors.slots == 1 else f"{vectors.slots} slots"
        ask = f"give batch={room} or less" if room > 1 else "leave batch= out"
        raise LayoutError(
            f"compile: batch={wanted}: a row of {name} takes {told}, {wanted} rows "
            f"{vectors.slots * wanted}; {ring} has {most}: {ask}; more rows than that are several runs",
            at=at,
        )
    if options.objective == THROUGHPUT:
        return _fill_rows(vectors, wanted, plan_of, options.on_event)
    wide = with_rows(vectors, wanted, options.on_event)
    return wide, plan_of(wide)


def _fill_rows(
    vectors: Vectors, rows: int, plan_of: Callable[[Vectors], Plan], on_event: OnPassEvent | None
) -> tuple[Vectors, Plan]:
    """Fill the vectors with as many rows as the ring has room for that so many take in any case."""
    while True:
        wide = with_rows(vectors, rows, on_event)
        plan = plan_of(wide)
        free = plan.chain.slots // wide.slots
        if free == 1:
            return wide, plan
        rows *= free


def _without_room(
    program: Program | Circuit, vectors: Vectors, plan: Plan, plan_of: Callable[[Vectors], Plan]
) -> LayoutError:
    """The error for rows that are to fill the slots, of which one takes all."""
    return LayoutError(
        f"compile: batch={FILL!r}: one row of {program.name} takes all {plan.chain.slots} slots of its ring, "
        f"{_time_a_row(plan)}: leave batch= out{_larger(vectors, plan_of)}",
        at=program.loc,
    )


def _larger(vectors: Vectors, plan_of: Callable[[Vectors], Plan]) -> str:
    """What two rows of a program would take, whose rows fill the ring; nothing if no ring holds them."""
    try:
        return f", or give batch=2, which is {_time_a_row(plan_of(with_rows(vectors, 2)))}"
    except UserError:
        return ""


def _time_a_row(plan: Plan) -> str:
    seconds = estimate(plan, CostModel.load()).warm_seconds / plan.client.rows
    return f"N={plan.chain.ring_degree} and {write_value(float(f'{1e3 * seconds:.3g}'))} ms a row (predicted)"

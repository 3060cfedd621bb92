"""Plans on the parameters of an old model (`like=`): the chain is given; levels, ranges and keys follow the old ones.

Ways to plan the vectors are tried in order. First as the old client file says: inputs at its levels and in its ranges,
outputs ended at its levels; if all that it states holds of the plan, that is taken, and the client file stays. Else the
program lies as low as it can, where keys of the old model serve it, with ranges of its own. Where that is too noisy,
outputs are computed as large as the lowest level has room for: the scale is given, and noise a smaller part of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from math import ceil, floor, log2

from latticework.compiler.levels import spending
from latticework.compiler.levels.depth import input_levels
from latticework.compiler.levels.public_factors import SMALL
from latticework.compiler.precision import HEADROOM_MARGIN, PrecisionSearch, Trial, room_above_scale
from latticework.compiler.retraining.old_model import OldModel
from latticework.compiler.retraining.same_client import find_differences, find_missing
from latticework.compiler.stage_results import Vectors
from latticework.compiler.too_deep import list_lines
from latticework.compiler.vector_levels import with_small_outputs, with_smaller_outputs
from latticework.errors import LevelError, PrecisionError, UserError
from latticework.plan.schema.schema import ClientSpec, Plan
from latticework.values.packing.interleaved_rows import interleave_rows

BELOW = 0.98  # of what there is room for: noise and rounding come on top
LEAVE_OUT = "leave like= out: the model then has parameters of its own, and every client makes new keys"


def plan_like(search: PrecisionSearch, old: OldModel, describe: Callable[[ClientSpec], ClientSpec]) -> Plan:
    """The plan on the chain of an old model that keeps most of it.

    describe  adds to a client's part what the program says of it apart from its plan
    raises    LevelError or PrecisionError where it does not do, with what to relax
    """
    check_levels(search, old)
    refused: list[UserError] = []
    usual = chain(_ways_as_stated(search, old), _ways_at_bottom(search, old, _forms(search, old)))
    for ways in (usual, _ways_at_bottom(search, old, _full_forms(search, old))):
        plan = _plan_keeping_most(ways, old, describe, refused)
        if plan is not None:
            return plan
    raise refused[0]


def _plan_keeping_most(
    ways: Iterator[PrecisionSearch],
    old: OldModel,
    describe: Callable[[ClientSpec], ClientSpec],
    refused: list[UserError],
) -> Plan | None:
    """The first plan that keeps the client file of an old model, or else one that keeps most keys; None if none does.

    refused  gets why others are no plans
    """
    best: tuple[int, Plan] | None = None
    for each in ways:
        try:
            plan = _plan_on(each, old)
        except UserError as error:
            refused.append(error)
            continue
        client = describe(plan.client)
        if not find_differences(old.client, client):
            return plan
        missing = len(find_missing(old.client, client))
        if best is None or missing <= best[0]:
            best = missing, plan
        if not missing and not each.vectors.stated:
            break
    return None if best is None else best[1]


def plan_as_stated(search: PrecisionSearch, old: OldModel, describe: Callable[[ClientSpec], ClientSpec]) -> Plan | None:
    """The plan at the levels and in the ranges of the old client file, of which all that it states is true, or else the
    most keys are there; None if there is none."""
    return _plan_keeping_most(_ways_as_stated(search, old), old, describe, [])


def is_laid_out_like(vectors: Vectors, client: ClientSpec) -> bool:
    """Whether inputs and outputs of one row lie where those of a client do."""
    rows = client.rows
    names = (*vectors.module.input_names, *vectors.module.outputs)
    known = {each.name: each.pack for each in client.secret_inputs} | {each.name: each.pack for each in client.outputs}
    return all(
        known.get(name) == (pack if rows == 1 else interleave_rows(pack, rows))
        for name, pack in zip(names, (*vectors.inputs, *vectors.outputs), strict=True)
        if pack is not None
    )


def check_levels(search: PrecisionSearch, old: OldModel) -> None:
    """LevelError for vectors that spend more levels than the chain has, or have more slots."""
    vectors, name, at = search.vectors, search.program.name, search.program.loc
    if vectors.depth > old.levels:
        lines = spending(vectors.flat or vectors.module)
        raise LevelError(
            f"compile: {name} needs {vectors.depth} levels, and the model given as like= has {old.levels}. Spent by "
            f"{list_lines(lines)}: approximate functions by lower degrees, ask for less than "
            f"precision_bits={search.precision_bits:g}, or {LEAVE_OUT}",
            at=lines[0].loc if lines else at,
        )
    if vectors.slots > old.chain.slots:
        raise LevelError(
            f"compile: {name} takes vectors of {vectors.slots} slots, and the model given as like= has "
            f"{old.chain.slots}: {LEAVE_OUT}",
            at=at,
        )


def _ways_as_stated(search: PrecisionSearch, old: OldModel) -> Iterator[PrecisionSearch]:
    """Searches whose inputs start, and whose outputs end, where those of the old client file do, in its ranges."""
    ranges = old.ranges(search.samples)
    if not ranges:
        return
    if search.vectors.residual is not None:
        yield replace(search, vectors=replace(search.vectors, stated=ranges))
        return
    for vectors in _forms(search, old):
        names = zip(vectors.module.input_names, vectors.inputs, strict=True)
        starts = old.starts([name if pack is not None else None for name, pack in names])
        if starts is not None:
            given = replace(vectors, starts=starts, ends=old.ends(vectors.module.outputs), stated=ranges)
            yield from _timings(replace(search, vectors=given))


def _ways_at_bottom(search: PrecisionSearch, old: OldModel, forms: Iterator[Vectors]) -> Iterator[PrecisionSearch]:
    """Searches whose vectors start as low as they can: a key serves all levels below the one that it is made for."""
    for vectors in forms:
        spare = old.levels - vectors.depth
        if spare:
            starts = tuple(level - spare for level in input_levels(vectors.flat or vectors.module))
            vectors = replace(vectors, starts=starts)
        yield from _timings(replace(search, vectors=vectors))


def _forms(search: PrecisionSearch, old: OldModel) -> Iterator[Vectors]:
    """The vectors, as far as the chain has their levels; before them the same with small outputs computed larger, and
    after them with large ones computed smaller, where the lowest level has no room for them."""
    vectors, sizes = search.vectors, search.magnitudes
    enlarged = with_small_outputs(vectors, sizes, search.options.on_event)
    most = _most_output(old)
    forms = [vectors] if enlarged is vectors else [enlarged, vectors]
    if max(sizes) > most and vectors.residual is None:
        forms.append(with_smaller_outputs(vectors, sizes, most))
    yield from (each for each in forms if each.depth <= old.levels)


def _full_forms(search: PrecisionSearch, old: OldModel) -> Iterator[Vectors]:
    """The vectors with outputs that fill the lowest level, if that takes no level more than the chain has.

    They keep the whole margin that programs with parameters of their own have: half of the modulus is for signs.
    """
    vectors, most = search.vectors, _most_output(old) / 2
    if vectors.residual is None and not any(0.0 < size < SMALL for size in search.magnitudes):
        full = with_smaller_outputs(vectors, search.magnitudes, most, fill=True)
        yield from [full] if full.depth <= old.levels else []


def _most_output(old: OldModel) -> float:
    """The largest magnitude of an output's vector that the lowest level has room for."""
    return BELOW * 2.0 ** floor(log2(room_above_scale(old.chain))) / HEADROOM_MARGIN


def _timings(search: PrecisionSearch) -> Iterator[PrecisionSearch]:
    """A search, and the same for values that come down late, if that is another one."""
    yield search
    try:
        is_lowered = search.levels.is_lowered
    except LevelError:
        return
    if is_lowered:
        yield search.late


def _plan_on(search: PrecisionSearch, old: OldModel) -> Plan:
    """The plan of one way.

    raises  LevelError or PrecisionError where the parameters do not do for it
    """
    trial: Trial = search.tried_on(old.chain)
    room, at = log2(room_above_scale(old.chain)) + 1, search.program.loc
    if trial.least_headroom_bits > room and not trial.is_proved:
        raise LevelError(
            f"compile: values take {trial.least_headroom_bits} bits of the modulus above the scale, and the parameters "
            f"of the model given as like= have room for {room:.0f}: scale the outputs down, or {LEAVE_OUT}",
            at=at,
        )
    if trial.missing_bits > 0:
        less = search.precision_bits - ceil(trial.missing_bits)
        ask = f"ask for precision_bits={less:g}, or " if less >= 1 else ""
        raise PrecisionError(
            f"compile: precision_bits={search.precision_bits:g} is not reached with the parameters of the model given "
            f"as like=: {trial.missing_bits} bits are missing: {ask}{LEAVE_OUT}",
            at=at,
        )
    return search.add_error_bounds(trial.plan, trial.measured, trial.found)

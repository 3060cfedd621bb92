"""Choice between vector programs of a circuit: those worth comparing as whole programs, and the one taken.

What a mask costs in levels or noise depends on where it stands, and no price of one instruction says it. So where the
search uses masks, another one avoids them. Code for one number at a time, which has no masks, is looked at too: on the
vectors that the client sends otherwise, and with every number in a ciphertext of its own. What is compared is a run and
sending what goes in and comes out: one number a ciphertext is fast to compute on and slow to send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isfinite

from latticework.compiler.circuits.circuit_pipeline import LaneOptions, Scalars
from latticework.compiler.lanes.lane_record import scalar_counts
from latticework.compiler.stage_results import Vectors
from latticework.errors import EffortWarning, UserError
from latticework.ir.lines import warn
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.circuit_schedule import CircuitRecord, CircuitStrategy
from latticework.plan.schema.schema import Plan

FIRST_SHARE = 0.7  # of the effort, for the first search
MAX_SCALAR = 400  # nodes of a circuit for which code for one number at a time is looked at in any case
MOST_SEARCHED = {"fast": 1000, "normal": 4000}  # nodes of a circuit for whose lanes an effort has time
MAX_APART = 64  # numbers that the client may send in a ciphertext each
MARGIN = 1.1  # times faster that arrays must be than lanes: they take more rotations, and so keys, which no time tells


@dataclass(frozen=True)
class Candidate:
    """Vector code of a circuit, and what it is predicted to take.

    run, sending  seconds; infinite where no parameters hold it
    plan          of a scheme whose plan is made before one is chosen
    """

    vectors: Vectors
    run: float = inf
    sending: float = 0.0
    plan: Plan | None = None

    @property
    def seconds(self) -> float:
        """All together."""
        return self.run + self.sending


def candidates(
    scalars: Scalars, lanes: LaneOptions, priced: Callable[[LaneOptions], Candidate], *, is_alone: bool
) -> list[Candidate]:
    """The vector programs on lanes that are worth comparing.

    priced    finds lanes, emits code and predicts
    is_alone  whether no other circuit goes on with the ciphertexts of this one, or made some for it
    raises    UserError where an algorithm is asked for whose rotations tell what is read of a matrix by rows
    warns     EffortWarning where a circuit is so large that it is computed one number at a time unseen
    """
    if any(group.is_by_rows for group in scalars.graph.groups):
        if lanes.algorithm == "annealing":
            raise UserError(
                f"compile: algorithm={lanes.algorithm!r} chooses lanes by what the circuit reads, which the client is "
                "not to learn; leave algorithm= out",
                at=scalars.line,
            )
        return [priced(replace(lanes, algorithm="scalar"))]
    if lanes.algorithm not in ("search", "scalar"):
        return [priced(lanes)]
    nodes = len(scalars.graph.nodes)
    is_large = lanes.algorithm == "search" and nodes > MAX_SCALAR
    result = []
    if lanes.algorithm == "search" and nodes > MOST_SEARCHED.get(lanes.effort, nodes):
        _warn_of_size(scalars, nodes, lanes.effort)
    elif lanes.algorithm == "search":
        result.append(priced(replace(lanes, share=FIRST_SHARE)))
        is_cheaper = is_large and _scalar_price(scalars, lanes) < _lane_price(result[0].vectors, lanes)
        counts = record_of(result[0].vectors).vector
        if counts is not None and counts.masks and not is_cheaper:
            rotate, mul, _, *rest = lanes.weights
            result.append(priced(replace(lanes, share=1.0 - FIRST_SHARE, weights=(rotate, mul, mul, *rest))))
        if is_large and not is_cheaper:
            return result
    result.append(priced(replace(lanes, algorithm="scalar")))
    apart = _separable(scalars) if is_alone and not is_large else frozenset()
    if apart:
        result.append(priced(replace(lanes, algorithm="scalar", apart=apart)))
    return result


def _warn_of_size(scalars: Scalars, nodes: int, effort: str) -> None:
    warn(
        f"{scalars.line}: this circuit has {nodes} operations, more than the {MOST_SEARCHED[effort]} for whose lanes "
        f"effort={effort!r} has time: each is computed by itself; effort='max' looks for lanes all the same, and array "
        "operations in an lw.program need no search for them",
        EffortWarning,
    )


def _scalar_price(scalars: Scalars, lanes: LaneOptions) -> float:
    """Price code for one number at a time, by the search's weights of instructions."""
    counts = scalar_counts([node.code for node in scalars.graph.nodes])
    _, mul, constant, plus, add, neg, level = lanes.weights
    seconds = mul * counts.muls + constant * counts.mul_constants
    seconds += plus * counts.add_constants + add * counts.adds + neg * counts.negs
    return seconds * (1 + level * scalars.graph.depth())


def _lane_price(vectors: Vectors, lanes: LaneOptions) -> float:
    """Price vector code, by the search's weights of instructions."""
    counts = record_of(vectors).vector
    assert counts is not None
    rotate, mul, constant, plus, add, neg, level = lanes.weights
    seconds = rotate * counts.rotations + mul * counts.muls + constant * (counts.mul_constants + counts.masks)
    seconds += plus * counts.add_constants + add * counts.adds + neg * counts.negs
    return seconds * (1 + level * vectors.depth)


def choose(compared: Sequence[Candidate], arrays: Candidate | None = None) -> Candidate:
    """The fastest, which is arrays only by a margin; its record names what else was looked at, if it was possible."""
    on_lanes = min(compared, key=lambda candidate: candidate.seconds)
    best = on_lanes
    if arrays is not None and on_lanes.seconds >= MARGIN * arrays.seconds:
        best = arrays
    by_method: dict[str, Candidate] = {}
    for candidate in (*compared, *([] if arrays is None else [arrays])):
        method = record_of(candidate.vectors).method
        if isfinite(candidate.seconds):
            by_method[method] = min(candidate, by_method.get(method, candidate), key=lambda c: c.seconds)
    own = record_of(best.vectors).method
    ways = tuple(CircuitStrategy(method, c.seconds, method == own, c.sending) for method, c in by_method.items())
    return _with_record(best, replace(record_of(best.vectors), ways=ways if len(ways) > 1 else ()))


def record_of(vectors: Vectors) -> CircuitRecord:
    """Return the record of how the circuit was vectorised."""
    assert vectors.circuit is not None and vectors.circuit.record is not None
    return vectors.circuit.record


def _with_record(candidate: Candidate, record: CircuitRecord) -> Candidate:
    assert candidate.vectors.circuit is not None
    vectors = replace(candidate.vectors, circuit=replace(candidate.vectors.circuit, record=record))
    plan = None if candidate.plan is None else replace(candidate.plan, circuit=record)
    return replace(candidate, vectors=vectors, plan=plan)


def _separable(scalars: Scalars) -> frozenset[int]:
    """Groups whose numbers may be sent one by one: one input each, in no lanes that are given; none if too many."""
    arguments = [a.input for a in scalars.traced.arguments]
    groups = [
        number
        for number, group in enumerate(scalars.graph.groups)
        if group.packing != "free" and not group.lanes and arguments.count(number) == 1
    ]
    numbers = sum(len(scalars.graph.groups[number].labels) for number in groups)
    return frozenset(groups) if numbers <= MAX_APART else frozenset()

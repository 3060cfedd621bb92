"""The order of stages of circuits, from the user's function to vectors; from there on they are as other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from latticework.compiler.lanes.emit_vectors import EmittedCircuit, emit_vectors
from latticework.compiler.lanes.keep_lanes import OldLanes, keep_lanes
from latticework.compiler.lanes.lane_graph import INPUT, Graph, evaluate, graph_of
from latticework.compiler.lanes.lane_record import record_lanes
from latticework.compiler.lanes.reference import reference
from latticework.compiler.lanes.rewrite_circuit import improve
from latticework.compiler.lanes.rewrite_polynomials import shorten_polynomials
from latticework.compiler.lanes.scalar_code import scalar_code
from latticework.compiler.levels import program_depth
from latticework.compiler.pass_order import OnPassEvent
from latticework.compiler.passes import cse, dce
from latticework.compiler.stage_results import CircuitFacts, Vectors
from latticework.errors import LayoutError
from latticework.frontend import Circuit, TracedCircuit, trace_circuit
from latticework.frontend.calibration.calibration_data import Sample
from latticework.frontend.circuits.integers.integer_arithmetic import Arithmetic
from latticework.ir import Loc, Module, Op, Origin, run_passes, verify
from latticework.ir.dialects.scalar_dialect import INTEGER, REAL
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.arguments import Result
from latticework.tensor.ops.lower import PlacedTensor
from latticework.values.extension import _core
from latticework.values.packing.pack import PackMap

WIDTH = 4096  # lanes, where the ring has no fewer: far more than circuits use, so that rotations rarely wrap around
WORK = {"fast": 1.5e6, "normal": 1.2e7, "max": 1.5e8}  # lanes that the search looks at
STARTS = {"fast": 1, "normal": 4, "max": 8}  # searches that share the work: several short ones find more
MANY = 1000  # nodes of a circuit for which one search takes long enough
MAX_WATCHED = 64  # vector instructions whose values debugging compares, beside the outputs
_OPERATIONS = {"vec.add": "sums", "vec.sub": "differences", "vec.mul": "products", "vec.neg": "negations"}
PASSES = (cse.PASS, dce.PASS)


@dataclass(frozen=True)
class LaneOptions:
    """How lanes are found.

    weights  predicted seconds of a rotation, product, product by public numbers, sum with them, sum, negation; and the
             part by which everything becomes dearer for one more product in a row
    share    of the work that the effort stands for
    apart    groups whose numbers scalar code has in a ciphertext each
    old      lanes to keep instead, as far as they do
    """

    algorithm: str
    effort: str
    seed: int
    weights: tuple[float, ...]
    share: float = 1.0
    apart: frozenset[int] = frozenset()
    old: OldLanes | None = None

    @property
    def method(self) -> str:
        """Name of the way in the record of a circuit."""
        return self.old.record.method if self.old is not None else "apart" if self.apart else self.algorithm


@dataclass(frozen=True)
class Scalars:
    """A circuit as single operations.

    written  as traced
    """

    traced: TracedCircuit
    written: Graph
    line: Loc

    def with_module(self, module: Module) -> Scalars:
        """Another circuit on the same inputs."""
        return Scalars(replace(self.traced, module=module), graph_of(module), self.line)

    @cached_property
    def regular(self) -> Graph:
        """As written but for polynomials, which are shallower: what is regular stays so."""
        return shorten_polynomials(self.written)

    @cached_property
    def graph(self) -> Graph:
        """Rewritten to fewer and shallower operations."""
        return improve(self.regular)


def to_scalars(
    circuit: Circuit,
    weights: Any,
    *,
    exact: bool,
    arithmetic: Arithmetic | None = None,
    integer_bits: int | None = None,
) -> Scalars:
    """Trace a circuit.

    exact       on integers, else on real numbers
    arithmetic  of integers, where they are compared or taken apart into bits
    integer_bits  of those that are computed modulo several primes
    """
    dtype = INTEGER if exact else REAL
    traced = trace_circuit(circuit, weights, dtype=dtype, arithmetic=arithmetic, integer_bits=integer_bits)
    verify(traced.module)
    written = graph_of(traced.module)
    return Scalars(traced, written, circuit.loc)


def vectorize(graph: Graph, width: int, options: LaneOptions) -> _core.lanes.VectorProgram:
    """The vector program of a graph.

    raises  LayoutError where a fixed lane is outside a vector of this width
    """
    used_of = Counter(node.left for node in graph.nodes if node.code == INPUT)
    for number, group in enumerate(graph.groups):
        used = used_of[number]
        if group.lanes and max(group.lanes) >= width:
            raise LayoutError(
                f"group {group.name}: lane {max(group.lanes)} is outside the {width} slots of a vector; give smaller "
                "lanes, or a larger ring_degree"
            )
        if group.packing != "free" and not group.lanes and used > width:
            raise LayoutError(
                f"{used} numbers of group {group.name} are used, a vector has {width} slots; split it, or give a "
                "larger ring_degree"
            )
    if options.algorithm == "scalar" or not graph.ends:
        return scalar_code(graph, width, options.apart)
    circuit, weights = graph.for_lanes(width), _core.lanes.InstructionWeights(*options.weights)
    # Coyote's annealing stays in the package: it is a value of `lanes=`, and the search begins from its quotients too.
    if options.algorithm == "annealing":
        schedule = _core.lanes.anneal(circuit, seed=options.seed).schedule  # at Coyote's own weights
        return _core.lanes.synthesize(circuit, schedule, weights, spread=False, joined=False)
    starts = STARTS[options.effort] if len(graph.nodes) <= MANY else 1
    work = WORK[options.effort] * options.share / starts
    with_copies = options.effort == "max"  # of operations, every other time: they take more slots of the inputs
    runs = (
        _core.lanes.vectorize(
            circuit, weights, work=work, seed=starts * options.seed + i, copies=with_copies and i % 2 == 1
        ).program
        for i in range(starts)
    )
    return min(runs, key=lambda program: program.cost)


def to_lanes(
    scalars: Scalars,
    width: int,
    options: LaneOptions,
    *,
    samples: Sequence[Sample] = (),
    exact: bool = False,
    dirty: frozenset[int] = frozenset(),
    on_event: OnPassEvent | None = None,
) -> Vectors:
    """Find lanes and emit vector code.

    samples  arrays of all groups by name, of which the sizes of outputs are learnt
    exact    on integers, else on real numbers
    """
    graph = scalars.written if options.algorithm == "annealing" else scalars.graph  # Coyote rewrites nothing
    names = [n for n, o in zip(scalars.traced.module.outputs, graph.outputs, strict=True) if isinstance(o, int)]
    program = vectorize(graph, width, options) if options.old is None else keep_lanes(graph, names, options.old)
    if program is None:
        raise LayoutError(f"circuit at {scalars.line}: the lanes of the old circuit do not compute this one")
    emitted = emit_vectors(graph, program, width, dirty=dirty)
    ends = set(emitted.module.body.terminator.operands)
    watched = [(v, table) for v, table in emitted.computed if v not in ends][:MAX_WATCHED]
    nodes = [[node for _, node in table] for _, table in watched]
    placed, seen = reference(graph, emitted.groups, emitted.places, scalars.line, exact=exact, watched=nodes)
    verify(placed)
    results = _renumber(scalars.traced.results, emitted)
    tensors, positions = [], {}
    largest = _magnitudes(graph, samples, emitted.places) if samples else {}
    outputs = emitted.module.body.terminator.operands, placed.body.terminator.operands, emitted.output_packs
    told = _names(scalars.traced.results, emitted)
    for number, (value, stacked, pack) in enumerate(zip(*outputs, strict=True)):
        name = ", ".join(list(told.get(number, ()))[:8]) or f"out{number}"
        tensors.append(PlacedTensor(name, value.owner.loc if isinstance(value.owner, Op) else scalars.line, pack))
        positions[stacked] = number
        stacked.origin = Origin(name, scalars.line, largest.get(number))
        if isinstance(value.owner, Op) and value.origin is None:
            value.origin = Origin(name, value.owner.loc, None, (number,))
    for (value, table), stacked in zip(watched, seen, strict=True):
        assert isinstance(value.owner, Op)
        name, line = _OPERATIONS.get(value.owner.name, value.owner.name), value.owner.loc
        value.origin = Origin(name, line, None, (len(tensors),))
        positions[stacked] = len(tensors)
        pack = PackMap.of_table(len(table), width, ((lane, i) for i, (lane, _) in enumerate(table)))
        tensors.append(PlacedTensor(name, line, pack))
    module = run_passes(emitted.module, PASSES, on_event=on_event)
    at = {group: i for i, group in enumerate(emitted.groups)}
    arguments = tuple(replace(a, input=at.get(a.input, -1)) for a in scalars.traced.arguments)
    record = record_lanes(
        graph.for_lanes(width), program, method=options.method,
        names={n: graph.groups[x.left].labels[x.right] for n, x in enumerate(graph.nodes) if x.code == INPUT},
        groups=[group.name for group in graph.groups],
        outputs=names, written=scalars.traced.written,
    )  # fmt: skip
    return Vectors(
        placed, module, tensors, positions, program_depth(module), width, emitted.input_packs, emitted.output_packs,
        circuit=CircuitFacts(arguments, results, record, scalars.line),
    )  # fmt: skip


def _renumber(results: Sequence[Result], emitted: EmittedCircuit) -> tuple[Result, ...]:
    """Results by the elements of the plan's outputs instead of those of the circuit."""
    starts = np.cumsum([0, *(pack.size for pack in emitted.output_packs)])
    flat = [int(starts[register]) + element for register, element in emitted.places]
    return tuple(replace(r, elements=tuple(flat[e] for e in r.elements)) for r in results)


def _names(results: Sequence[Result], emitted: EmittedCircuit) -> dict[int, dict[str, None]]:
    """Of every output register the names of the results in it, in order."""
    names: dict[int, dict[str, None]] = {}
    for result in results:
        for element in result.elements:
            names.setdefault(emitted.places[element][0], {})[result.name] = None
    return names


def _magnitudes(graph: Graph, samples: Sequence[Sample], places: Sequence[tuple[int, int]]) -> dict[int, float]:
    """The largest number in every output register over all samples."""
    inputs = [list(np.stack([np.asarray(s[g.name], dtype=np.float64) for s in samples], axis=1)) for g in graph.groups]
    largest: dict[int, float] = {}
    for value, (register, _) in zip(evaluate(graph, inputs), places, strict=True):
        largest[register] = max(largest.get(register, 0.0), float(np.max(np.abs(value))))
    return largest

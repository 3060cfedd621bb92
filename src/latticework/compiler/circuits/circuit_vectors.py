"""The vectors of a circuit under either scheme: on lanes of the best width, or as arrays, whichever takes least."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from latticework.compiler.circuits.array_circuits import to_arrays
from latticework.compiler.circuits.choose_vectors import Candidate, candidates, choose
from latticework.compiler.circuits.circuit_batch import of_best_width
from latticework.compiler.circuits.circuit_pipeline import LaneOptions, Scalars
from latticework.compiler.circuits.composition import SharedParameters
from latticework.compiler.lanes.keep_lanes import OldLanes
from latticework.compiler.like_plans import is_laid_out_like
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.retraining.old_model import OldModel
from latticework.compiler.stage_results import Vectors
from latticework.errors import LayoutError, UserError
from latticework.frontend import Circuit
from latticework.frontend.calibration.calibration_data import Sample
from latticework.lazy_dataclass import dataclass

LARGE = {"fast": 5_000, "normal": 20_000}  # nodes of a circuit for whose lanes an effort has no time
LEVEL = 1.0  # part by which everything becomes dearer for one more product in a row, masks included


@dataclass(frozen=True)
class CircuitVectors(ABC):
    """A choice of vectors for a circuit.

    samples  arrays of all groups by name
    arrays   the circuit as operations on arrays, if it is regular
    """

    scalars: Scalars
    samples: Sequence[Sample]
    arrays: Vectors | None
    shared: SharedParameters
    options: CompileOptions

    @abstractmethod
    def predict(self, vectors: Vectors) -> Candidate:
        """Predict what vectors take."""

    @abstractmethod
    def emit(self, width: int, lanes: LaneOptions) -> Vectors:
        """Find lanes in vectors of a width, and emit code for them."""

    @abstractmethod
    def weights(self) -> tuple[float, ...]:
        """Prices of vector operations, as `LaneOptions` has them, without that of a level."""

    @abstractmethod
    def widest(self) -> int:
        """Width of a vector where nothing else is known."""

    @property
    def old(self) -> OldModel | None:
        """The model whose place the circuit takes; None: there is none, or it goes on with results of that."""
        like = self.options.like
        return None if like is None or self.shared.groups else OldModel(like.plan)

    def keep(self) -> Vectors | None:
        """The vectors that lie as those of the old model; None where that has none for this circuit."""
        expert, old = self.options.expert, self.old
        record = None if old is None else old.plan.circuit
        if old is None or record is None or expert.algorithm != "search":
            return None
        if record.method == "tensors":
            return self.arrays
        packs = {each.name: each.pack for each in old.client.secret_inputs}
        lanes = LaneOptions(expert.algorithm, expert.effort, expert.seed, (), old=OldLanes(record, packs))
        with suppress(LayoutError):
            return self.emit(record.width, lanes)
        return None

    @property
    def is_settled(self) -> bool:
        """Whether the circuit is compiled as arrays without a look at lanes."""
        nodes, expert = len(self.scalars.written.nodes), self.options.expert
        return self.arrays is not None and (expert.algorithm == "tensors" or nodes > LARGE.get(expert.effort, nodes))

    def choose(self) -> Candidate:
        """Find vectors on lanes, and take them or the arrays."""
        lanes = self.options.expert
        wanted = LaneOptions(lanes.algorithm, lanes.effort, lanes.seed, (*self.weights(), LEVEL))
        usual = self.shared.width or self._usual_width()
        return of_best_width(self.scalars.graph, usual, self.options.rows, partial(self._choose_at, lanes=wanted))

    def _choose_at(self, width: int, lanes: LaneOptions) -> Candidate:
        """Choose among the vectors of a width, and the arrays."""
        is_alone = self.shared.is_alone(self.options) or _is_old_way("apart", self.shared, self.options)
        found = candidates(self.scalars, lanes, partial(self._price, width), is_alone=is_alone)
        return choose(found, None if self.arrays is None else self.predict(self.arrays))

    def _price(self, width: int, lanes: LaneOptions) -> Candidate:
        return self.predict(self.emit(width, lanes))

    def _usual_width(self) -> int:
        """Width that the ring has room for, if one is given."""
        like, ring_degree = self.options.like, self.options.ring_degree
        if like is not None:
            return min(self.widest(), like.plan.chain.slots)
        return ring_degree // 2 if ring_degree else self.widest()


def _is_old_way(method: str, shared: SharedParameters, options: CompileOptions) -> bool:
    """Whether a circuit takes the place of one that was vectorised so, as one alone is."""
    record = None if options.like is None or shared.groups else options.like.plan.circuit
    return record is not None and record.method == method and not options.expert.spare_levels


def find_arrays(
    circuit: Circuit,
    scalars: Scalars,
    samples: Sequence[Sample],
    shared: SharedParameters,
    options: CompileOptions,
    *,
    exact: bool = False,
) -> Vectors | None:
    """Lay a circuit out as operations on arrays, if that may be and if it is regular.

    exact   whether numbers are integers modulo t
    raises  UserError if it has to be
    """
    is_kept = _is_old_way("tensors", shared, options)
    if not (shared.is_alone(options) or is_kept) or options.expert.algorithm not in ("search", "tensors"):
        return None
    found = to_arrays(scalars, samples, options, exact=exact)
    if is_kept and found is not None and options.like and not is_laid_out_like(found, options.like.plan.client):
        ring = options.override(ring_degree=options.like.plan.chain.ring_degree)
        found = to_arrays(scalars, samples, ring, exact=exact)
    if found is None and options.expert.algorithm == "tensors":
        raise UserError(
            f'compile: algorithm="tensors", but circuit {circuit.name} is no regular arithmetic on arrays, or its '
            'inputs have lanes= or share ciphertexts; leave algorithm="search", or write it as an lw.program',
            at=circuit.loc,
        )
    return found

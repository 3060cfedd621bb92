"""Cost of a plan: predicted time, operations, bytes and peak memory, from register types alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.bootstrap_costs import BootstrapCosts, bootstrap_costs
from latticework.plan.analysis.memory import PeakMemory, peak_value_bytes
from latticework.plan.analysis.step_prices import ENCODE, Step, StepPrices
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel, Work
from latticework.plan.cost.client_cost import input_bytes, result_bytes
from latticework.plan.instructions.value_shapes import row_bytes
from latticework.plan.instructions.work_units import add_work
from latticework.plan.schema.schema import Plan
from latticework.values.sums import add_up


@dataclass(frozen=True, slots=True)
class OperationCounts:
    """Operations of one run, loops multiplied out.

    rotations            products with a Galois key, hoisted ones included
    key_switches         rotations and relinearisations
    encodes              different encoded constants
    rescales, mod_downs  divisions by primes of a level, and by P (then perhaps also by primes of levels), as
                         instructions of their own: every fused key switch has one more inside
    bootstraps           ciphertexts that blocks bootstrap, whose operations are counted above
    """

    rotations: int = 0
    relinearizations: int = 0
    key_switches: int = 0
    hoists: int = 0
    ciphertext_products: int = 0
    plaintext_products: int = 0
    integer_products: int = 0
    encodes: int = 0
    rescales: int = 0
    mod_downs: int = 0
    additions: int = 0
    bootstraps: int = 0


@dataclass(frozen=True, slots=True)
class Bytes:
    """Sizes of what is sent and kept, without headers.

    inputs_fresh      encrypted inputs as a client sends them: a seed and one polynomial
    inputs_evaluated  the same if made by another computation or with a public key: two polynomials
    keys_stored       evaluation keys in a file;  keys_resident  in memory
    constants         all encoded constants
    """

    inputs_fresh: int
    inputs_evaluated: int
    outputs: int
    keys_stored: int
    keys_resident: int
    constants: int


@dataclass(frozen=True)
class CostEstimate:
    """The predicted cost of one run on one thread.

    seconds           of the first run, once its memory is there
    encode_seconds    the part of it for encoding constants, which later runs save
    fresh_seconds     getting the memory of values and constants from the system, which later runs save too
    key_load_seconds  once per start, before the first run: reading and expanding the evaluation keys, memory included
    by_op             seconds per opcode;  by_location  seconds per source location; each sums to `seconds`
    key_uses          products with each key, by its number in the plan
    bootstraps        what they take of it; None where there are none
    trips             values assumed for run-time trip counts;  unbounded  locations of loops counted as one trip
    """

    steps: tuple[Step, ...]
    seconds: float
    encode_seconds: float
    fresh_seconds: float
    key_load_seconds: float
    by_op: dict[str, float]
    by_location: dict[int, float]
    counts: OperationCounts
    units: Work
    key_uses: dict[int, int]
    bytes: Bytes
    memory: PeakMemory
    trips: dict[str, int]
    unbounded: tuple[int, ...]
    bootstraps: BootstrapCosts | None = None

    @property
    def first_seconds(self) -> float:
        """The first run of a server that has just started."""
        return self.seconds + self.fresh_seconds

    @property
    def warm_seconds(self) -> float:
        """A run whose constants are already encoded, in memory that an earlier one had."""
        return self.seconds - self.encode_seconds


def estimate(plan: Plan, model: CostModel, trips: Mapping[str, int] | None = None) -> CostEstimate:
    """Predict one run of a plan.

    trips  values of index inputs by name; without one, its limit; without a limit, the loop counts as one trip.
           Of two branches the slower is counted
    """
    known = TripCounts(plan, trips)
    priced = StepPrices(plan, known, model)
    priced.follow()
    times = len(plan.chain.plain_moduli)  # that the code is run, on values of one plaintext modulus after the other
    steps = tuple(priced.steps) * times
    by_op: dict[str, float] = defaultdict(float)
    by_location: dict[int, float] = defaultdict(float)
    key_uses: Counter[int] = Counter()
    for step in steps:
        by_op[step.op] += step.seconds
        for location, share in plan.shares(step.location):
            by_location[location] += share * step.seconds
        key_uses.update(step.keys)
    sizes = _bytes(plan, times * sum(priced.constants.values()))
    memory = PeakMemory(peak_value_bytes(plan, TripCounts(plan, trips)), sizes.keys_resident, sizes.constants)
    return CostEstimate(
        steps,
        add_up(step.seconds for step in steps),
        by_op.get(ENCODE, 0.0),
        model.fresh_seconds(memory.values + memory.constants),
        key_load_seconds(plan, model),
        dict(by_op),
        dict(by_location),
        count_operations(steps),
        add_work(*(step.work for step in steps)),
        dict(key_uses),
        sizes,
        memory,
        known.assumed,
        tuple(sorted(known.unbounded)),
        bootstrap_costs(plan, steps),
    )


def count_operations(steps: Iterable[Step]) -> OperationCounts:
    """Operations by kind."""
    counts: Counter[str] = Counter()
    for step in steps:
        counts.update(step.counts)
    return OperationCounts(**counts)


def key_load_seconds(plan: Plan, model: CostModel) -> float:
    """Reading all evaluation keys, and expanding their seeded halves, into memory from the system."""
    chain = plan.chain
    rows = sum(size // (2 * 8 * chain.ring_degree) for size in plan.client.manifest.bytes_resident)
    read: Work = {"expand": rows, "read_byte": plan.client.manifest.total_stored_bytes}
    fresh = model.fresh_seconds(plan.client.manifest.total_resident_bytes)
    return model.work_seconds(read, chain.ring_degree) + fresh


def _bytes(plan: Plan, constant_rows: int) -> Bytes:
    chain, client, keys = plan.chain, plan.client, plan.client.manifest
    fresh, outputs = input_bytes(client), result_bytes(client)
    return Bytes(
        fresh, 2 * fresh, outputs, keys.total_stored_bytes, keys.total_resident_bytes, constant_rows * row_bytes(chain)
    )

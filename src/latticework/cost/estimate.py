"""What a plan costs: predicted time, operations, bytes and peak memory, from register types alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from latticework.cost.maps import Parts, map_encodings, map_parts
from latticework.cost.memory import PeakMemory, constant_bytes, peak_value_bytes
from latticework.cost.model import CostModel
from latticework.cost.shapes import map_sums_of, priced_as, shape_of, stored_bytes, vectors_of
from latticework.cost.trips import Trips
from latticework.cost.work import Shape, Work, add_work, work
from latticework.instructions.code import Instruction
from latticework.instructions.kinds import CipherKind, DigitsKind, KeyKind, PlainKind
from latticework.plan.schema import Plan


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of the code in the order it first runs, with all its runs together.

    level    of its result; None where it has none
    times    how often it runs, once for each ciphertext of an array;  trips  how often the loops around it turn
    seconds  predicted for all runs; an encoding is counted once, for it is cached
    """

    block: int
    place: int
    op: str
    location: int
    level: int | None
    times: int
    seconds: float
    work: Work
    trips: int = 1


@dataclass(frozen=True, slots=True)
class OperationCounts:
    """Operations of one run, loops multiplied out.

    rotations            products with a Galois key, hoisted ones included
    key_switches         rotations and relinearisations
    encodes              different encoded constants
    rescales, mod_downs  divisions by primes of a level, and by P (then perhaps also by primes of levels), as
                         instructions of their own: every fused key switch has one more inside
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
class Estimate:
    """The predicted cost of one run on one thread.

    seconds           of the first run, once its memory is there
    encode_seconds    the part of it for encoding constants, which later runs save
    fresh_seconds     getting the memory of values and constants from the system, which later runs save too
    key_load_seconds  once per start, before the first run: reading and expanding the evaluation keys, memory included
    by_op             seconds per opcode;  by_location  seconds per source location; each sums to `seconds`
    key_uses          products with each key, by its number in the plan
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

    @property
    def first_seconds(self) -> float:
        """The first run of a server that has just started."""
        return self.seconds + self.fresh_seconds

    @property
    def warm_seconds(self) -> float:
        """A run whose constants are already encoded, in memory that an earlier one had."""
        return self.seconds - self.encode_seconds


def estimate(plan: Plan, model: CostModel, trips: Mapping[str, int] | None = None) -> Estimate:
    """Predict one run of a plan.

    trips  values of index inputs by name; without one, its limit; without a limit, the loop counts as one trip.
           Of two branches the slower is counted
    """
    known = Trips(plan, trips)
    walk = _Walk(plan, model, known)
    steps = tuple(walk.block(0, 1))
    by_op: dict[str, float] = defaultdict(float)
    by_location: dict[int, float] = defaultdict(float)
    for step in steps:
        by_op[step.op] += step.seconds
        for location, share in plan.shares(step.location):
            by_location[location] += share * step.seconds
    sizes = _bytes(plan)
    memory = PeakMemory(peak_value_bytes(plan, Trips(plan, trips)), sizes.keys_resident, sizes.constants)
    return Estimate(
        steps,
        sum(step.seconds for step in steps),
        by_op.get("encode", 0.0),
        model.fresh_seconds(memory.values + memory.constants),
        key_load_seconds(plan, model),
        dict(by_op),
        dict(by_location),
        count_operations(plan, steps),
        add_work(*(step.work for step in steps)),
        _key_uses(plan, steps),
        sizes,
        memory,
        known.assumed,
        tuple(sorted(known.unbounded)),
    )


class _Walk:
    """Follows the code once, pricing each instruction by how often it runs."""

    def __init__(self, plan: Plan, model: CostModel, trips: Trips) -> None:
        self.plan = plan
        self.model = model
        self.trips = trips
        self.prices: dict[tuple[str, Shape], float] = {}
        self.encoded: set[tuple[int, object]] = set()

    def block(self, number: int, times: int) -> Iterator[Step]:
        """Steps of a block that runs so many times."""
        for place, instruction in enumerate(self.plan.blocks[number].code):
            self.trips.note(instruction)
            yield from self.steps(number, place, instruction, times)
            if instruction.op == "for":
                yield from self.block(instruction.immediate[0], times * self.trips.of(instruction))
            elif instruction.op == "if":
                branches = [list(self.block(b, times)) for b in instruction.immediate]
                yield from max(branches, key=lambda steps: sum(s.seconds for s in steps))

    def steps(self, block: int, place: int, instruction: Instruction, times: int) -> Iterator[Step]:
        """One instruction, priced; the encodings of a block map stand before it."""

        def step(op: str, parts: Parts, runs: int) -> Step:
            units = add_work(*({unit: n * paid for unit, n in work(o, s).items()} for o, s, paid in parts))
            seconds = sum(paid * self.price(o, s) for o, s, paid in parts)
            return Step(block, place, op, instruction.location, self.level(instruction), runs, seconds, units, times)

        if instruction.op == "map_sums":
            encode, shape, count = map_encodings(self.plan, instruction)
            paid = count * self.first_encoded(instruction, times)
            yield step("encode", [(encode, shape, paid)], paid)
            parts = [(op, shape, n * times) for op, shape, n in map_parts(self.plan, instruction)]
            yield step(instruction.op, parts, times)
            return
        op, vectors = priced_as(self.plan, instruction)
        paid = vectors * (self.first_encoded(instruction, times) if instruction.op == "encode" else times)
        yield step(instruction.op, [(op, shape_of(self.plan, instruction), paid)], vectors * times)

    def price(self, op: str, shape: Shape) -> float:
        """Seconds of one operation."""
        if (op, shape) not in self.prices:
            self.prices[op, shape] = self.model.seconds(op, shape)
        return self.prices[op, shape]

    def first_encoded(self, instruction: Instruction, times: int) -> int:
        """1 if this is where a constant is encoded first."""
        constant = (instruction.immediate[0], self.plan.kind(instruction.results[0]))
        if times == 0 or constant in self.encoded:
            return 0
        self.encoded.add(constant)
        return 1

    def level(self, instruction: Instruction) -> int | None:
        """Level of the result."""
        for register in instruction.results:
            kind = self.plan.kind(register)
            if isinstance(kind, CipherKind | DigitsKind | PlainKind):
                return kind.level
        return None


def count_operations(plan: Plan, steps: tuple[Step, ...]) -> OperationCounts:
    """Operations by kind."""
    found: Counter[str] = Counter()
    for step in steps:
        instruction = plan.blocks[step.block].code[step.place]
        for name in _count_as(plan, instruction) if step.op == instruction.op else ():
            found[name] += step.times
        if step.op == "encode" and step.work.get("ntt"):
            is_map = instruction.op == "map_sums"
            found["encodes"] += step.times if is_map else vectors_of(plan.kind(instruction.results[0]))
    return OperationCounts(**{f.name: found[f.name] for f in fields(OperationCounts)})


def _count_as(plan: Plan, instruction: Instruction) -> tuple[str, ...]:
    match instruction.op:
        case "diag_sums":
            num_keys, _, *pairs = instruction.immediate
            return ("key_switches", "rotations") * num_keys + ("plaintext_products",) * (len(pairs) // 2)
        case "map_sums":
            products = map_sums_of(plan, instruction).products
            turned = products.switches()
            hoists = ("hoists",) * len({in_ for in_, _ in turned})
            rotations = ("key_switches", "rotations") * len(turned)
            return hoists + rotations + ("plaintext_products",) * len(products.values)
        case "key_product" | "rotate" | "relinearize":
            key = plan.kind(instruction.operands[1].register)
            assert isinstance(key, KeyKind)
            turns = plan.keys[key.key].kind == "galois"
            switches = ("key_switches", "rotations" if turns else "relinearizations")
            return (*switches, "rescales") if _takes_levels(plan, instruction) else switches
        case "mod_down":
            source = plan.kind(instruction.operands[0].register)
            return ("mod_downs" if isinstance(source, CipherKind) and source.basis else "rescales",)
        case "dot":
            product = priced_as(plan, instruction)[0]
            return ("plaintext_products" if product == "mul_plain" else "ciphertext_products",)
        case "mul" | "square":
            return ("ciphertext_products",)
        case "mul_relinearize":
            return ("ciphertext_products", "key_switches", "relinearizations")
        case "mul_plain":
            return ("plaintext_products",)
        case "mul_int":
            return ("integer_products",)
        case "add" | "sub" | "sum" | "add_plain" | "sub_plain" | "add_int":
            return ("additions",)
        case "hoist":
            return ("hoists",)
    return ()


def _takes_levels(plan: Plan, instruction: Instruction) -> bool:
    """Whether a key switch ends at a lower level than it starts from."""
    source, result = plan.kind(instruction.operands[0].register), plan.kind(instruction.results[0])
    return isinstance(source, CipherKind) and isinstance(result, CipherKind) and result.level < source.level


def key_load_seconds(plan: Plan, model: CostModel) -> float:
    """Reading all evaluation keys, and expanding their seeded halves, into memory from the system."""
    chain = plan.chain
    rows = sum(size // (2 * 8 * chain.ring_degree) for size in plan.client.manifest.bytes_resident)
    read: Work = {"expand": rows, "read_byte": plan.client.manifest.total_stored_bytes}
    fresh = model.fresh_seconds(plan.client.manifest.total_resident_bytes)
    return model.work_seconds(read, chain.ring_degree) + fresh


def _key_uses(plan: Plan, steps: tuple[Step, ...]) -> dict[int, int]:
    uses: Counter[int] = Counter()
    for step in steps:
        instruction = plan.blocks[step.block].code[step.place]
        if step.op != instruction.op or step.op in ("for", "if", "yield"):
            continue
        keys = [plan.kind(operand.register) for operand in instruction.operands]
        if step.op == "map_sums":
            keys = [keys[baby] for _, baby in map_sums_of(plan, instruction).products.switches()]
        for key in keys:
            if isinstance(key, KeyKind):
                uses[key.key] += step.times
    return dict(uses)


def _bytes(plan: Plan) -> Bytes:
    chain, client = plan.chain, plan.client
    fresh = sum(i.pack.count * stored_bytes(chain, i.level, 0, 1) for i in client.secret_inputs)
    outputs = sum(o.pack.count * stored_bytes(chain, o.level, 0, 2) for o in client.outputs)
    keys = client.manifest
    return Bytes(fresh, 2 * fresh, outputs, keys.total_stored_bytes, keys.total_resident_bytes, constant_bytes(plan))

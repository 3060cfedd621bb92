"""Random small programs on arrays of vectors, as vec modules and as what NumPy makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from vec_cases import SLOTS, Vectors

from latticework import _core
from latticework.ir import Module, Value
from latticework.plan.files.code_file import encode_code
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.schema.schema import Plan
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Access, LinearMap, LoopNest, MapSums, slot_vectors

MAX_COUNT = 6
MAX_DEPTH = 2


@dataclass
class Held:
    """A value of a program: what it is in the module, what NumPy says, and the levels below the inputs."""

    value: Value
    array: np.ndarray  # always (count, slots)
    depth: int = 0

    @property
    def count(self) -> int:
        return len(self.array)


@dataclass
class ArrayProgram:
    """A program being drawn; every step appends one value that depends on inputs."""

    rng: np.random.Generator
    counts: list[int]
    vectors: Vectors = field(init=False)
    inputs: list[np.ndarray] = field(init=False)
    held: list[Held] = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = Vectors(len(self.counts), counts=self.counts)
        self.inputs = [self.rng.uniform(-1, 1, (n, SLOTS)) for n in self.counts]
        self.held = [Held(v, a) for v, a in zip(self.vectors.x, self.inputs, strict=True)]

    def any(self, depth: int = MAX_DEPTH) -> Held:
        fitting = [h for h in self.held if h.depth <= depth]
        return fitting[self.rng.integers(len(fitting))]

    def partner(self, count: int, depth: int = MAX_DEPTH) -> Held:
        """A value that an array of this count can meet: cut to it or to one vector where it does not fit."""
        other = self.any(depth)
        if other.count in (1, count) or count == 1:
            return other
        numbers = tuple(int(n) for n in self.rng.integers(other.count, size=self.rng.choice([1, count])))
        return self.taken(other, numbers)

    def taken(self, x: Held, numbers: tuple[int, ...]) -> Held:
        return Held(self.vectors.op("take", x.value, vectors=numbers), x.array[list(numbers)], x.depth)

    def step(self, name: str) -> None:
        v, rng = self.vectors, self.rng
        match name:
            case "add" | "sub":
                a = self.any()
                b = self.partner(a.count)
                sums = a.array + b.array if name == "add" else a.array - b.array
                new = Held(v.op(name, a.value, b.value), sums, max(a.depth, b.depth))
            case "mul":
                a = self.any(MAX_DEPTH - 1)
                b = self.partner(a.count, MAX_DEPTH - 1)
                new = Held(v.op("mul", a.value, b.value), a.array * b.array, 1 + max(a.depth, b.depth))
            case "square":
                a = self.any(MAX_DEPTH - 1)
                new = Held(v.op("mul", a.value, a.value), a.array**2, 1 + a.depth)
            case "mul_public" | "add_public":
                a = self.any(MAX_DEPTH - 1)
                count = int(rng.choice([1, a.count])) if a.count > 1 else int(rng.integers(1, 4))
                public = rng.uniform(-1, 1, (count, SLOTS))
                constant = v.constant(public if count > 1 else public[0])
                if name == "mul_public":
                    new = Held(v.op("mul", a.value, constant), a.array * public, a.depth + 1)
                else:
                    new = Held(v.op("add", a.value, constant), a.array + public, a.depth)
            case "scale":
                a = self.any()
                new = Held(v.op("mul", a.value, v.splat(-2.0)), -2.0 * a.array, a.depth)
            case "take":
                a = self.any()
                new = self.taken(a, tuple(int(n) for n in rng.integers(a.count, size=rng.integers(1, MAX_COUNT))))
            case "concat":
                parts = [self.any() for _ in range(rng.integers(1, 3))]
                joined = np.concatenate([p.array for p in parts])
                new = Held(v.op("concat", *(p.value for p in parts)), joined, max(p.depth for p in parts))
            case "sum":
                a = self.any()
                groups = int(rng.choice([g for g in range(1, a.count + 1) if a.count % g == 0]))
                sums = np.stack(
                    [a.array[g * a.count // groups :][: a.count // groups].sum(axis=0) for g in range(groups)]
                )
                new = Held(v.op("sum", a.value, groups=groups), sums, a.depth)
            case "rotate":
                a = self.any()
                steps = int(rng.integers(1, 4))
                new = Held(v.op("rotate", a.value, steps=steps), np.roll(a.array, -steps, axis=1), a.depth)
            case "matrix":
                a = self.any(MAX_DEPTH - 1)
                near = np.subtract.outer(np.arange(SLOTS), np.arange(SLOTS)) % SLOTS < 3
                matrix = np.where(near, rng.uniform(-0.5, 0.5, near.shape), 0.0)
                new = Held(v.matrix(a.value, matrix), a.array @ matrix.T, a.depth + 1)
            case "block":
                a = self.any(MAX_DEPTH - 1)
                weights = rng.uniform(-0.5, 0.5, (SLOTS * int(rng.integers(1, 4)), 4))
                block = block_map(weights, a.count, v.module)
                new = Held(v.op("linear_transform", a.value, map=block), blocked(weights, a.array), a.depth + 1)
            case _:
                a = self.any(0)
                x = Held(v.op("mul", a.value, v.constant(np.full(SLOTS, 0.0625))), a.array / 16)
                new = Held(
                    v.polynomial(x.value, [0.25, -0.5, 0.5]), 0.25 - 0.5 * x.array + 0.5 * (2 * x.array**2 - 1), 3
                )
        if new.count <= 2 * MAX_COUNT and np.max(np.abs(new.array)) < 8:
            self.held.append(new)

    def done(self) -> tuple[Module, list[np.ndarray]]:
        """The module that returns the last values, and what they are."""
        last = [h for h in self.held[len(self.counts) :]][-3:] or self.held
        return self.vectors.done(*(h.value for h in last)), [h.array for h in last]


def block_map(weights: np.ndarray, count_in: int, module: Module) -> LinearMap:
    """out[r] = sum over k of weights[r, k] * in[r + 5 k - 3], elements outside left out; a row of slots a vector."""
    rows, taps = weights.shape
    out, size = Access((rows,), ((1, 0),), (0,)), count_in * SLOTS
    read, source = Access((size,), ((1, 5),), (-3,)), Access((rows, taps), ((1, 0), (0, 1)), (0, 0))
    pack_out, pack_in = flat(rows // SLOTS), flat(count_in)
    gather = LoopNest((rows, taps), pack_out, out, module.add_source(weights), source, pack_in, read)
    return LinearMap.of(gather)


def flat(count: int) -> PackMap:
    """A tensor of one axis, laid out along slots and then along vectors."""
    vectors = (PackDim(0, count, SLOTS),) if count > 1 else ()
    return PackMap((count * SLOTS,), SLOTS, (PackDim(0, SLOTS),), vectors)


def blocked(weights: np.ndarray, array: np.ndarray) -> np.ndarray:
    """What `block_map` says, on (count, slots)."""
    x, out = array.reshape(-1), np.zeros(len(weights))
    for (r, k), weight in np.ndenumerate(weights):
        if 0 <= r + 5 * k - 3 < x.size:
            out[r] += weight * x[r + 5 * k - 3]
    return out.reshape(-1, SLOTS)


STEPS = (
    "add", "sub", "mul", "mul", "square", "mul_public", "add_public", "scale", "take", "concat", "sum", "sum", "rotate",
    "matrix", "block", "block", "polynomial",
)  # fmt: skip


def draw(seed: int, steps: int = 8) -> tuple[Module, list[np.ndarray], list[np.ndarray]]:
    """A module, its inputs (count, slots) and the outputs (count, slots) by NumPy."""
    rng = np.random.default_rng(seed)
    program = ArrayProgram(rng, [int(n) for n in rng.integers(1, MAX_COUNT, size=2)])
    for name in rng.choice(STEPS, size=steps):
        program.step(str(name))
    module, outputs = program.done()
    return module, program.inputs, outputs


def values(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Arrays as they are where programs are interpreted: one vector has no axis of vectors."""
    return [a[0] if len(a) == 1 else a for a in arrays]


class Deployed:
    """A plan with keys of its own."""

    def __init__(self, plan: Plan, *, backend: str = "auto") -> None:
        self.plan = plan
        self.context = _core.Context(core_parameters(plan.chain), backend, 1)
        generator = _core.KeyGenerator(self.context)
        secret = generator.secret_key()
        specs = [
            {"kind": k.kind, "galois_element": k.galois_element, "track": k.track, "level": k.level} for k in plan.keys
        ]
        self.encryptor = _core.Encryptor(self.context, secret)
        self.decryptor = _core.Decryptor(self.context, secret)
        self.keys = generator.evaluation_keys(secret, specs)
        self.executor = self.executor_with()

    def executor_with(self, *constant_bytes: int, keys: Any = None) -> _core.Executor:
        """One that keeps so many bytes of encoded constants, if that is said; with other keys than all in memory."""
        plan = self.plan
        return _core.Executor(
            self.context,
            _core.Plan(core_parameters(plan.chain), encode_code(plan)),
            self.keys if keys is None else keys,
            lambda i, product=None: slot_vectors(plan.constants[i], plan.sources, product),
            *constant_bytes,
            products=self.products,
        )

    def products(self, number: int) -> np.ndarray:
        sums = self.plan.constants[number]
        assert isinstance(sums, MapSums)
        return sums.products.rows

    def encrypt(self, inputs: list[np.ndarray]) -> list[list[_core.Ciphertext]]:
        """A list of ciphertexts for each (count, slots)."""
        encoder = _core.Encoder(self.context)
        return [
            [self.encryptor.encrypt(encoder.encode(v, (0, spec.level), spec.scale)) for v in x]
            for spec, x in zip(self.plan.client.secret_inputs, inputs, strict=True)
        ]

    def run(self, inputs: list[list[_core.Ciphertext]]) -> list[np.ndarray]:
        """Real parts of the outputs, (count, slots)."""
        outputs = [y if isinstance(y, list) else [y] for y in self.executor.run(list(inputs))]
        return [np.stack([np.real(self.decryptor.decrypt(c)) for c in y]) for y in outputs]


def encrypted(plan: Plan, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Outputs (count, slots) of a plan run on ciphertexts, real parts."""
    deployed = Deployed(plan)
    return deployed.run(deployed.encrypt(inputs))

"""Single instructions by chance, on real ciphertexts: what their results are off by, beside what error rules say.

The exact value of an operand is chosen after it is encrypted: what it decrypts to, less an error that is drawn. So its
error is known whatever its encryption left, and may be zero, where all that is measured is what the instruction adds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from math import log, log2

import numpy as np
from instruction_cases import CHAINS, Maker, N
from vec_cases import line

from latticework import _core
from latticework.errors import UserError
from latticework.plan.analysis.bfv_noise_domain import noise_of_outputs
from latticework.plan.analysis.error_bounds import bounds_of_outputs
from latticework.plan.analysis.error_model import Bound, ErrorModel
from latticework.plan.analysis.simulation import Simulation
from latticework.plan.analysis.simulation_bfv import BfvSimulation
from latticework.plan.files.code_file import encode_code
from latticework.plan.instructions.executable import Instruction, PlanBlock, RegisterOperand
from latticework.plan.instructions.register_kinds import (
    AddendKind,
    CipherKind,
    DigitsKind,
    IndexKind,
    KeyKind,
    PlainKind,
)
from latticework.plan.instructions.table import RECORDS
from latticework.plan.parameters.bfv_chain import ChainShape
from latticework.plan.parameters.bfv_noise import ShapeNoiseModel
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.schema.schema import ClientSpec, Plan, SourceLocation
from latticework.values.centred_residues import centre
from latticework.values.packing.key_manifest import KeyManifest
from latticework.values.packing.loop_nests.baby_giant import Split
from latticework.values.packing.packed_constants import (
    Access,
    ConstRef,
    Diagonal,
    LinearMap,
    LoopNest,
    MapStrategy,
    MapSums,
    number_matrix,
    slot_vectors,
    splat,
)

ROOM_BITS = 6  # between a value and half its modulus
FLOOR = 2.0**-40  # of errors: what float64 leaves


def with_special(scheme, bits):
    """A chain whose special primes are so many bits more than its largest digit."""
    chain = CHAINS[scheme]
    digit = max(sum(log2(p) for p in chain.limb_primes(d)) for d in chain.digits)
    count = len(chain.special)
    near = _core.primes_near(2.0 ** ((digit + bits) / count), 2 * N, 8)
    return replace(chain, special=tuple([p for p in near if p not in chain.primes][:count]))


# What a key adds to a key switch is more than what its division adds, or far less.
KEYED = {"ckks": with_special("ckks", 0), "bfv": with_special("bfv", 0)}
ROUNDED = {"ckks": with_special("ckks", 20), "bfv": with_special("bfv", 8)}


class Deployed:
    """Keys of one chain, and what encrypts, computes and decrypts with them."""

    def __init__(self, chain, keys):
        self.chain = chain
        self.context = _core.Context(core_parameters(chain), "cpu", 1)
        generator = _core.KeyGenerator(self.context)
        secret = generator.secret_key()
        self.keys = generator.evaluation_keys(
            secret,
            [
                {name: getattr(k, name) for name in ("kind", "galois_element", "track", "level")}
                for k in dict.fromkeys(keys)
            ],
        )
        self.is_bfv = chain.scheme == "bfv"
        self.encryptor = _core.Encryptor(self.context, secret)
        self.evaluator = _core.Evaluator(self.context)
        self.products = _core.BfvEvaluator(self.context) if self.is_bfv else self.evaluator
        self.encoder = _core.BfvEncoder(self.context) if self.is_bfv else _core.Encoder(self.context)
        self.decryptor = (_core.BfvDecryptor if self.is_bfv else _core.Decryptor)(self.context, secret)

    def encrypt(self, values, kind):
        """One ciphertext of a kind over Q; of degree 2 it is a product with ones."""
        place, scale = (kind.track, kind.level), kind.scale
        if self.is_bfv:
            residues = np.tile(values % self.chain.plain_modulus, N // kind.slots).astype(np.uint64)
            x = self.encryptor.encrypt(self.encoder.addend(self.encoder.encode(residues), place, kind.slots))
            return x if kind.degree == 1 else self.products.mul(x, x)
        low = 2.0 ** (log2(scale) // 2) if kind.degree == 2 else 1.0
        x = self.encryptor.encrypt(self.encoder.encode(values, place, scale / low))
        if kind.degree == 1:
            return x
        return self.evaluator.mul(x, self.encryptor.encrypt(self.encoder.encode(np.ones(kind.slots), place, low)))

    def decrypt(self, x):
        if not self.is_bfv:
            return self.decryptor.decrypt(x)
        found = self.encoder.decode(self.decryptor.decrypt(x))[: x.slots]
        return centre(found.astype(np.int64), self.chain.plain_modulus)

    def run(self, plan, arguments):
        """Outputs as lists of ciphertexts."""
        executor = _core.Executor(
            self.context,
            _core.Plan(core_parameters(self.chain), encode_code(plan)),
            self.keys,
            lambda i, product=None: slot_vectors(plan.constants[i], plan.sources, product),
            products=lambda i: plan.constants[i].products.rows,
        )
        return [y if isinstance(y, list) else [y] for y in executor.run(arguments)]


@cache
def deployed(chain, keys):
    return Deployed(chain, keys)


class InstructionMaker(Maker):
    """Draws instructions that can be run: with constants that there are, over QP what a key product leaves there."""

    def __init__(self, rng, chain):
        super().__init__(rng, chain.scheme)
        self.chain = chain

    def cipher(self, **known):
        drawn = super().cipher(**known)
        if drawn.basis:
            drawn = replace(drawn, degree=1)
        widths = (N // 2,) if self.is_bfv else (8, N // 2, N // 2)  # polynomials of wide vectors have all coefficients
        return replace(drawn, slots=known.get("slots", self.pick(*widths)))

    def operands(self, op):
        if op in ("extend", "diag_sums"):
            given, *rest = super().operands(op)
            return (tuple(replace(k, degree=1) if isinstance(k, CipherKind) else k for k in given), *rest)
        if op in ("add", "sub") and not self.is_bfv:
            (a, b), *rest = super().operands(op)
            return ((a, replace(b, scale=b.scale * self.pick(1.0, 1 - 2.0**-21))), *rest)
        return super().operands(op)

    def parts(self, case):
        """Of how many parts an index of an instruction is one."""
        if case.op == "encode_at":
            return len(case.immediate)
        part = case.operands[1] if case.op == "put_at" else case.results[0]
        return case.operands[0].count // part.count if case.op in ("take_at", "put_at") else 1

    def right(self, op):
        case = super().right(op)
        if case is None or (op in ("encode", "encode_at") and case.results[0].basis):
            return None
        if op == "relabel" and case.results[0].slots != case.operands[0].slots:
            return None  # the noise of coefficients that a narrow vector does not see is not in its error
        if op == "mul_monomial" and case.immediate[0] % (N // 2):
            return None
        if op in ("add_plain", "sub_plain") and case.operands[0].basis:
            return None  # see test_what_is_added_over_qp_is_a_multiple_of_p
        if op == "mul_int" and not case.immediate[0]:
            return None  # zero, whatever its operand was
        return case


@dataclass
class Code:
    """A plan around one instruction, being written.

    inputs  the kinds of its arguments, arrays of ciphertexts over Q
    """

    maker: InstructionMaker
    kinds: list = field(default_factory=list)
    registers: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    arguments: list = field(default_factory=list)
    constants: list = field(default_factory=list)
    sources: dict = field(default_factory=dict)
    values: tuple = (-1.0, 1.0)

    def register(self, kind):
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def input(self, kind):
        self.arguments.append(self.register(kind))
        self.inputs.append(kind)
        return self.arguments[-1]

    def op(self, name, operands, kinds, immediate=()):
        results = tuple(self.register(kind) for kind in kinds)
        reads = tuple(RegisterOperand(r) for r in operands)
        self.steps.append(Instruction(name, 0, reads, results, tuple(immediate)))
        return results

    def key(self, kind):
        (register,) = self.op("key", (), [kind], [kind.key])
        return register

    def add_constant(self, slots, count=1):
        """A constant of its own, and its number."""
        size = slots * count
        low, high = self.values
        if self.maker.is_bfv:
            array = np.rint(self.maker.rng.uniform(-0.5, 0.5, size) * self.maker.chain.plain_modulus)
        else:
            array = self.maker.rng.uniform(low, high, size)
        name, walk = f"w{len(self.sources)}", Access((size,), ((1,),), (0,))
        self.sources[name] = array
        self.constants.append(ConstRef(LoopNest((size,), line(slots, count), walk, name, walk)))
        return len(self.constants) - 1

    def operand(self, kind, parts=1):
        """A register of a kind that holds something; an index that of one of so many parts."""
        match kind:
            case IndexKind():
                return self.op("iconst", (), [kind], [int(self.maker.rng.integers(parts))])[0]
            case KeyKind():
                return self.key(kind)
            case PlainKind():
                return self.op("encode", (), [kind], [self.add_constant(kind.slots, kind.count)])[0]
            case DigitsKind():
                over_q = CipherKind(kind.slots, kind.track, kind.level, kind.scale, kind.degree, 0, count=kind.count)
                return self.op("hoist", [self.input(over_q)], [kind])[0]
        if not kind.basis:
            return self.input(kind)
        digits = DigitsKind(kind.slots, kind.track, kind.level, kind.scale, 1, kind.count)
        key = self.key(self.maker.key("galois", kind.track, kind.level))
        return self.op("key_product", [self.operand(digits), key], [kind])[0]

    def closed(self, register):
        """A register over Q made of a result."""
        kind = self.kinds[register]
        if isinstance(kind, AddendKind) or (isinstance(kind, PlainKind) and not self.maker.is_bfv):
            of = CipherKind(kind.slots, kind.track, kind.level, kind.scale, 1, kind.basis, count=kind.count)
            return self.op("trivial", [register], [of])[0]
        if isinstance(kind, PlainKind):
            of = CipherKind(kind.slots, kind.track, kind.level, 1.0, 1, kind.basis, count=kind.count)
            return self.op("mul_plain", [self.input(of), register], [of])[0]
        if isinstance(kind, DigitsKind):
            key = self.key(self.maker.key("galois" if kind.degree == 1 else "relin", kind.track, kind.level))
            of = CipherKind(kind.slots, kind.track, kind.level, kind.scale, 1, 1, count=kind.count)
            return self.closed(self.op("key_product", [register, key], [of])[0])
        if kind.basis:
            return self.op("mod_down", [register], [replace(kind, basis=0)])[0]
        return register

    def plan(self, outputs):
        self.op("yield", outputs, [])
        chain, kinds = self.maker.chain, tuple(dict.fromkeys(self.kinds))
        manifest = KeyManifest((), (0, 0), (0, 0), (0.0, 0.0), 0)
        return Plan(
            ClientSpec("single", chain, (), (), manifest, 12.0), kinds, tuple(map(kinds.index, self.kinds)),
            (PlanBlock(tuple(self.arguments), tuple(self.steps)),), tuple(self.maker.keys), tuple(self.constants),
            self.sources, (SourceLocation("instruction", 1, ""),), (), {},
        )  # fmt: skip


def plan_around(maker, op, values=(-1.0, 1.0)):
    """(plan, kinds of its inputs) of an instruction drawn; None where this draw had none."""
    code = Code(maker, values=values)
    code.input(CipherKind(N // 2, 0, maker.chain.main.top, 1.0 if maker.is_bfv else 2.0**25, 1, 0))  # the top level
    if op == "map_sums":
        made = _map_sums(maker, code)
    elif op == "public_matmul":
        made = _matrix_product(maker, code)
    else:
        case = maker.right(op)
        if case is None:
            return None
        given, known = [], {}
        for kind in case.operands:
            again = type(kind) is CipherKind and kind in known and op != "sub" and maker.pick(True, False)
            given.append(known[kind] if again else code.operand(kind, maker.parts(case)))
            known[kind] = given[-1]
        immediate = case.immediate
        if op in ("encode", "encode_at"):
            immediate = [code.add_constant(case.results[0].slots, case.results[0].count) for _ in immediate]
        made = code.op(op, given, case.results, immediate)
        if op == "extend":  # the multiple of P alone is divided without an error
            made = code.op("add", [*made, code.operand(case.results[0])], case.results)
    return code.plan([code.closed(register) for register in made]), code.inputs


def _map_sums(maker, code):
    """A map of a few diagonals, of which one is the input itself, one is rotated and one conjugated."""
    a = maker.cipher(degree=1, basis=0)
    keys = {0: maker.key("galois", a.track, a.level)}
    spec = maker.keys[keys[0].key]
    is_swap = spec.galois_element == 2 * N - 1
    diagonals = []
    for out in range(maker.pick(1, 2)):
        for in_ in range(a.count):
            for step in maker.pick((0,), (1,), (0, 1)):
                values = code.constants[code.add_constant(a.slots)]
                diagonals.append(Diagonal(0 if is_swap else step, values, is_swap and step == 1, out, in_))
    num_out = max(d.out for d in diagonals) + 1
    linear = LinearMap(a.slots, explicit=tuple(diagonals), count_in=a.count, count_out=num_out)
    sums = MapSums(linear, MapStrategy(Split(a.slots)))
    code.constants.append(sums)
    babies = sums.products.babies
    assert len(babies) <= 1
    given = [code.input(a), *(code.key(keys[0]) for _ in babies)]
    result = replace(
        a, count=len(sums.products.groups), scale=a.scale * (1.0 if maker.is_bfv else 2.0**22), basis=int(bool(babies))
    )
    return code.op("map_sums", given, [result], [len(code.constants) - 1])


def _matrix_product(maker, code):
    """A matrix of a few numbers, one row of which may be zero."""
    a = maker.cipher(basis=0, count=maker.pick(2, 6), degree=maker.pick(1, 2))
    rows = maker.pick(1, 3)
    numbers = maker.rng.uniform(*code.values, (rows, a.count)) * (np.arange(rows) != maker.pick(1, 2))[:, None]
    diagonals = tuple(
        Diagonal(0, splat(float(numbers[out, in_]), a.slots), False, out, in_)
        for out in range(rows)
        for in_ in range(a.count)
    )
    matrix = number_matrix(LinearMap(a.slots, explicit=diagonals, count_in=a.count, count_out=rows))
    code.constants.append(matrix)
    return code.op("public_matmul", [code.input(a)], [replace(a, count=rows, scale=a.scale * 2.0**22)], [0])


@dataclass(frozen=True)
class Measured:
    """One vector of a CKKS result: what its error, value and bound are.

    error, largest  root mean square of the real or of the imaginary part of the error, whichever is more, and its largest
                    magnitude
    peak, rms       of the exact value
    drawn           as `error`, of a simulation of exact operands that draws noise
    slots           that `error` is the mean over
    bound, added    what the rule says, and what it would of exact operands
    """

    error: float
    largest: float
    peak: float
    rms: float
    drawn: float
    slots: int
    bound: Bound
    added: Bound


def rms(x):
    return float(np.sqrt(np.mean(np.abs(x) ** 2)))


def operand_vectors(rng, shape, aligned, exact):
    """Values and errors (count, slots) of an array, complex; None for an error that is none, if it may be `exact`."""
    if aligned:  # in some draws all that meets adds up
        value, error = rng.choice([-1.0, 1.0], 2)
        return np.full(shape, value, dtype=complex), np.full(shape, error * 2.0**-4, dtype=complex)
    parts = rng.uniform(-1, 1, (2, *shape))
    parts[1] *= rng.integers(2)
    size, deviation = rng.choice([0.0, 1.0, 1.0, 1.0]), rng.choice([0.0, 2.0**-6, 2.0**-2][not exact :])
    values = size * (parts[0] + 1j * parts[1])
    if not deviation:
        return values, None
    errors = rng.normal(0, deviation, (2, *shape))
    return values, errors[0] + 1j * errors[1]


def measure_ckks(rng, chain, op, *, aligned=False):
    """What an instruction drawn is off by, for each vector of its results; None where this draw cannot be run."""
    maker = InstructionMaker(rng, chain)
    drawn = plan_around(maker, op, (1.0, 1.0) if aligned else (-1.0, 1.0))
    if drawn is None:
        return None
    plan, kinds = drawn
    run, model = deployed(chain, tuple(maker.keys)), ErrorModel(chain)
    arguments, values, bounds = [], [], []
    for number, kind in enumerate(kinds):
        may_be_exact = RECORDS[op].family != "product" or kind.slots == N // 2  # products meet noise that is not seen
        exact, errors = operand_vectors(rng, (kind.count, kind.slots), aligned, may_be_exact)
        encrypted = [run.encrypt(v, kind) for v in (exact if errors is None else exact + errors)]
        found = np.array([run.decrypt(x) for x in encrypted])
        exact = found if errors is None else exact
        off = found - exact
        arguments.append(encrypted if kind.count > 1 else encrypted[0])
        values.append(exact)
        bounds.append(
            tuple(
                Bound(np.max(np.abs(v)), rms(v), rms(e) / np.sqrt(2), np.max(np.abs(e)), frozenset([(number * 64 + i, 0, False)]))
                for i, (v, e) in enumerate(zip(exact, off, strict=True))
            )
        )  # fmt: skip
    try:
        wanted, drawn_noise = (simulated(plan, values, noise) for noise in (None, rng))
    except UserError:
        return None
    if op == "add_int":  # the number stands for any near it
        wanted = [value + rng.choice([-0.5, 0.5]) / outputs_of(plan)[0].scale for value in wanted]
    predicted, added = (
        bounds_of_outputs(plan, plan.sources, model, given)
        for given in (bounds, [tuple(replace(b, average=0.0, worst=0.0) for b in array) for array in bounds])
    )
    for kind, array in zip(outputs_of(plan), predicted, strict=True):
        room = (chain.modulus(kind.level, kind.track) / kind.scale) / 2.0 ** (1 + ROOM_BITS)
        if any(b.peak + 16 * b.average > room for b in array):
            return None
    measured = []
    results = [[run.decrypt(c) for c in array] for array in run.run(plan, arguments)]
    for arrays in zip(wanted, results, drawn_noise, predicted, added, strict=True):
        for value, result, noisy, bound, alone in zip(*arrays, strict=True):
            if not result.any():  # a sum of nothing
                continue
            off = result - value
            measured.append(
                Measured(
                    largest_part(off), float(np.max(np.abs(off))), float(np.max(np.abs(value))), rms(value),
                    largest_part(noisy - value), value.size, bound, alone,
                )
            )  # fmt: skip
    return measured


def largest_part(x):
    """The root mean square of the real or of the imaginary parts, whichever is more."""
    return max(rms(x.real), rms(x.imag))


def simulated(plan, values, noise):
    """What a plan gives out, with noise drawn or without."""
    run = Simulation(plan, noise, None)
    run.dtype = np.complex128
    return run.run(values)


def outputs_of(plan):
    """The kinds of what a plan gives out."""
    return [plan.kind(o.register) for o in plan.blocks[0].code[-1].operands]


@dataclass(frozen=True)
class MeasuredNoise:
    """One ciphertext of a BFV result, all log2: its largest coefficient of noise, the one expected, the worst one."""

    largest: float
    expected: float
    worst: float


def measure_bfv(rng, chain, op):
    """What noise an instruction drawn leaves in each ciphertext; None where this draw cannot be run."""
    maker = InstructionMaker(rng, chain)
    drawn = plan_around(maker, op)
    if drawn is None:
        return None
    plan, kinds = drawn
    run, model, t = deployed(chain, tuple(maker.keys)), ShapeNoiseModel(ChainShape(chain)), chain.plain_modulus

    def largest(ciphertext, level):
        budget = run.decryptor.noise_budget(ciphertext)
        return model.parameters.log2_q(level) - log2(t) - 1 - budget

    arguments, values, noises = [], [], {}
    for number, kind in enumerate(kinds):
        factor = 1 << int(rng.integers(48)) if rng.integers(2) else 1
        encrypted = [
            run.evaluator.mul_int(run.encrypt(rng.integers(0, t, kind.slots), kind), factor) for _ in range(kind.count)
        ]
        noise = replace(model.fresh(public_key=False), level=kind.level)
        if kind.degree == 2:
            noise = model.square(noise, relinearized=False)
        noise = model.mul_int(noise, factor)
        if model.spare_bits(noise) < ROOM_BITS:
            return None
        noises[number] = replace(noise, worst=max(largest(x, kind.level) for x in encrypted) + 2.0**-20)
        arguments.append(encrypted if kind.count > 1 else encrypted[0])
        values.append(np.array([run.decrypt(x) for x in encrypted]))
    predicted = noise_of_all(plan, chain, noises)
    if min(model.spare_bits(noise) for noise in sum(predicted, ())) < ROOM_BITS:
        return None
    wanted = BfvSimulation(plan, None).run(values)
    measured = []
    for value, ciphertexts, left in zip(wanted, run.run(plan, arguments), predicted, strict=True):
        for v, c, noise in zip(value, ciphertexts, left, strict=True):
            np.testing.assert_array_equal(run.decrypt(c), v)
            if not v.any():  # a sum of nothing
                continue
            expected = model.variance(noise, typical=True) / 2 + 0.5 * log2(2 * log(N))
            measured.append(MeasuredNoise(largest(c, noise.level), min(expected, noise.worst), noise.worst))
    return measured


def noise_of_all(plan, chain, inputs):
    """The noise of each ciphertext of each output."""
    noises = noise_of_outputs(plan, chain, inputs=inputs)
    arrays = []
    for kind in outputs_of(plan):
        arrays.append(tuple(noises[: kind.count]))
        noises = noises[kind.count :]
    return arrays

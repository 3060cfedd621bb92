"""The noise that a BFV plan leaves in every ciphertext, by the noise model, before anything runs.

What a ciphertext holds is followed as a sum of independent sources: a fresh encryption, a product, a rounding. Sums of
values that share sources add them up coherently, so that x + x counts twice, and not sqrt(2) times; turned copies of a
source are as good as independent of it. What a product multiplies the noise of one factor with is the other one as an
integer polynomial, its phase, which a public number added leaves nearly as it is: a * (b + 1) and a * (b + 2) have the
same noise, and are one source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count, islice
from math import inf, log2

from latticework.errors import UnsupportedError
from latticework.instructions.code import Executable, Instruction
from latticework.instructions.kinds import CipherKind, DigitsKind, KeyKind, PlainKind
from latticework.packing.constants import MapSums
from latticework.packing.keys import galois_action
from latticework.params import ModulusChain
from latticework.params.bfv_chain import ChainShape
from latticework.params.bfv_noise import Noise, NoiseModel, log_sum
from latticework.plan.schema import Plan

MAX_SOURCES = 2048  # of one value; more are taken for one that is as large as if all were the same
Source = tuple[int, int]  # its number, and by how many steps it is turned
Held = dict[Source, float]  # log2 of the factor that it stands in a value with
OnNoise = Callable[[int, tuple[Noise, ...]], None]
_SILENT = {"encode", "key"}
_OF_ONE_PHASE = {"neg", "add_plain", "sub_plain", "add_int", "mul_int", "hoist", "extend", "mod_down"}


def noise_of_outputs(
    code: Executable,
    chain: ModulusChain,
    *,
    public_key: bool = True,
    on_noise: OnNoise | None = None,
    inputs: Mapping[int, Noise] = {},
) -> list[Noise]:
    """The noise of every ciphertext that a plan gives out.

    chain       may have another number of primes than that of the code: places are counted from the top
    public_key  inputs are encrypted under the public key, which is noisier than under the secret key
    inputs      noise of those that are no fresh encryptions, by number
    on_noise    called with (register, noises) for every array of ciphertexts over Q
    raises      UnsupportedError for loops, whose noise grows with every turn
    """
    return _Walk(code, chain, on_noise).run(public_key, inputs)


def output_budgets(plan: Plan, *, public_key: bool = True) -> list[float]:
    """The noise budget in bits to be expected of each output: that of the noisiest of its ciphertexts."""
    model = NoiseModel(ChainShape(plan.chain))
    left = [model.budget(noise) for noise in noise_of_outputs(plan, plan.chain, public_key=public_key)]
    counts = [output.pack.count for output in plan.client.outputs]
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return [min(left[start : start + size]) for start, size in zip(starts, counts, strict=True)]


class _Walk:
    def __init__(self, code: Executable, chain: ModulusChain, on_noise: OnNoise | None) -> None:
        self.code = code
        self.model = NoiseModel(ChainShape(chain))
        self.on_noise = on_noise
        self.shift = 0
        self.sources: list[Noise] = []
        self.registers: dict[int, tuple[Held, ...]] = {}
        self.phases: dict[int, tuple[int, ...]] = {}
        self.unused_phases = count()
        self.turned_phases: dict[tuple[int, int], int] = {}
        self.of_phases: dict[tuple[int, int], int] = {}  # source of the products of two phases
        self.product = lru_cache(maxsize=4096)(self.model.mul)
        self.square = lru_cache(maxsize=4096)(self.model.square)
        self.switching = lru_cache(maxsize=64)(lambda level: self.model.rotate(nothing(level)))

    def run(self, public_key: bool, inputs: Mapping[int, Noise]) -> list[Noise]:
        """Follow the code."""
        body = self.code.blocks[0]
        kinds = [self.kind(r) for r in body.arguments]
        top = max((k.level for k in kinds if isinstance(k, CipherKind)), default=0)
        self.shift = self.model.parameters.levels - top
        for number, (register, kind) in enumerate(zip(body.arguments, kinds, strict=True)):
            if not isinstance(kind, CipherKind):
                raise UnsupportedError("BFV plans have no run-time integers")
            given = inputs.get(number) or self.model.fresh(public_key=public_key)
            fresh = replace(given, level=kind.level + self.shift)
            self.phases[register] = tuple(islice(self.unused_phases, kind.count))
            self.write(register, tuple(self.new(fresh) for _ in range(kind.count)))
        for instruction in body.code:
            if instruction.op == "yield":
                return [n for o in instruction.operands for n in self.noises(o.register)]
            if instruction.op not in _SILENT:
                results = self.step(instruction)
                for register, held in zip(instruction.results, results, strict=True):
                    self.phases[register] = self.phases_of(instruction, len(held))
                    self.write(register, held)
        raise AssertionError("a block ends in yield")

    def kind(self, register: int) -> object:
        """The type of a register."""
        return self.code.kinds[self.code.registers[register]]

    def write(self, register: int, held: tuple[Held, ...]) -> None:
        """Set a register, and tell whoever listens."""
        self.registers[register] = held
        kind = self.kind(register)
        if self.on_noise is not None and isinstance(kind, CipherKind) and kind.basis == 0:
            self.on_noise(register, self.noises(register))

    def noises(self, register: int) -> tuple[Noise, ...]:
        """What a register holds, as noise."""
        return tuple(self.noise(held, register) for held in self.registers[register])

    def phases_of(self, instruction: Instruction, size: int) -> tuple[int, ...]:
        """Numbers that are equal where phases are nearly so, of each ciphertext of an instruction's results."""
        known = [self.phases[o.register] for o in instruction.operands if o.register in self.phases]
        if instruction.op == "take":
            return tuple(known[0][number] for number in instruction.immediate)
        if instruction.op == "concat":
            return tuple(phase for array in known for phase in array)
        key = self.kind(instruction.operands[-1].register) if instruction.operands else None
        if instruction.op in ("rotate", "key_product") and isinstance(key, KeyKind):
            element = self.code.keys[key.key].galois_element
            return tuple(
                self.turned_phases.setdefault((phase, element), next(self.unused_phases)) for phase in known[0]
            )
        if instruction.op in _OF_ONE_PHASE:
            return known[0] if len(known[0]) == size else known[0] * size
        return tuple(islice(self.unused_phases, size))

    # -- values as sums of sources -----------------------------------------------------------

    def new(self, noise: Noise) -> Held:
        """A value of which a new source is all there is."""
        self.sources.append(noise)
        return {(len(self.sources) - 1, 0): 0.0}

    def noise(self, held: Held, register: int) -> Noise:
        """All of a value's sources together."""
        found = [(self.sources[number], factor) for (number, _), factor in held.items()]
        length = max((len(noise.variances) for noise, _ in found), default=1)
        variances = tuple(
            log_sum(*(n.variances[i] + 2 * factor for n, factor in found if i < len(n.variances)))
            for i in range(length)
        )
        return Noise(self.level(register), variances, log_sum(*(n.worst + factor for n, factor in found)))

    def level(self, register: int) -> int:
        """The level of a register, in the chain that the noise is for."""
        kind = self.kind(register)
        assert isinstance(kind, CipherKind | DigitsKind)
        return kind.level + self.shift

    def add(self, a: Held, b: Held) -> Held:
        """The sum of two values."""
        if len(a) < len(b):
            a, b = b, a
        total = dict(a)
        for source, factor in b.items():
            total[source] = log_sum(total[source], factor) if source in total else factor
        return total if len(total) <= MAX_SOURCES else self.as_one(total)

    def as_one(self, held: Held) -> Held:
        """One source for all, as large as if they were coherent."""
        found = [(self.sources[number], factor) for (number, _), factor in held.items()]
        length = max(len(noise.variances) for noise, _ in found)
        variances = tuple(
            2 * log_sum(*(n.variances[i] / 2 + factor for n, factor in found if i < len(n.variances)))
            for i in range(length)
        )
        return self.new(Noise(found[0][0].level, variances, log_sum(*(n.worst + factor for n, factor in found))))

    def times(self, held: Held, factor: float) -> Held:
        """A value times a number, given by its log2."""
        return {source: before + factor for source, before in held.items()} if factor > -inf else {}

    # -- instructions ------------------------------------------------------------------------

    def step(self, instruction: Instruction) -> list[tuple[Held, ...]]:
        """What an instruction makes of its operands."""
        op, immediate = instruction.op, instruction.immediate
        operands = [o.register for o in instruction.operands]
        arrays = [self.registers[r] for r in operands if isinstance(self.kind(r), CipherKind | DigitsKind)]
        match op:
            case "take":
                return [tuple(arrays[0][number] for number in immediate)]
            case "concat":
                return [tuple(held for array in arrays for held in array)]
            case "sum":
                return [self.sums(arrays[0], immediate[0])]
            case "dot":
                return [self.sums(self.products(instruction), immediate[0])]
            case "diag_sums":
                return self.diag_sums(instruction)
            case "map_sums":
                return [self.map_sums(instruction)]
            case "mul" | "square" | "mul_plain" | "mul_relinearize":
                return [self.products(instruction)]
            case "add" | "sub":
                size = max(map(len, arrays))
                return [tuple(self.add(*(a[i if len(a) > 1 else 0] for a in arrays)) for i in range(size))]
            case "trivial":
                kind = self.kind(instruction.results[0])
                assert isinstance(kind, CipherKind)
                rounding = self.model.add_plain(nothing(kind.level + self.shift))
                return [tuple(self.new(rounding) for _ in range(kind.count))]
        kind = self.kind(instruction.results[0])
        assert isinstance(kind, CipherKind | DigitsKind)
        size = kind.count
        x = arrays[0]
        return [tuple(self.unary(instruction, x[i if len(x) > 1 else 0]) for i in range(size))]

    def unary(self, instruction: Instruction, x: Held) -> Held:
        """What an instruction makes of one ciphertext."""
        operand = instruction.operands[0].register
        level = self.level(operand)
        match instruction.op:
            case "neg" | "hoist" | "extend":
                return x
            case "mul_int":
                factor = abs(instruction.immediate[0])
                return self.times(x, log2(factor) if factor else -inf)
            case "add_plain" | "sub_plain" | "add_int":
                return self.add(x, self.new(self.model.add_plain(nothing(level))))
            case "rotate" | "relinearize" | "key_product":
                return self.switched(instruction, x)
            case "mod_down":
                lower = self.level(instruction.results[0])
                divided = self.model.parameters.log2_q(lower) - self.model.parameters.log2_q(level)
                return self.add(self.times(x, divided), self.new(self.model.mod_switch(nothing(level), lower)))
        raise UnsupportedError(f"{instruction.op}: BFV plans have no such operation")

    def switched(self, instruction: Instruction, x: Held) -> Held:
        """A value after a key switch: turned, and with the noise of that."""
        key = self.kind(instruction.operands[1].register)
        assert isinstance(key, KeyKind)
        level = self.level(instruction.operands[0].register)
        return self.add(self.turned(x, key, self.slots(instruction)), self.new(self.switching(level)))

    def slots(self, instruction: Instruction) -> int:
        """Length of the vectors that an instruction works on."""
        kind = self.kind(instruction.operands[0].register)
        assert isinstance(kind, CipherKind | DigitsKind)
        return kind.slots

    def turned(self, x: Held, key: KeyKind, slots: int) -> Held:
        """A value as the automorphism of a key leaves it."""
        spec = self.code.keys[key.key]
        if spec.kind != "galois":
            return x
        steps, _ = galois_action(spec.galois_element, slots)
        return {(number, (before + steps) % slots): factor for (number, before), factor in x.items()}

    def products(self, instruction: Instruction) -> tuple[Held, ...]:
        """Products, one by one; relinearised ones with the noise of that."""
        a = instruction.operands[0].register
        b = instruction.operands[1].register if instruction.op != "square" else a
        relinearized = instruction.op == "mul_relinearize"
        x = self.registers[a]
        if isinstance(self.kind(b), PlainKind):
            kind = self.kind(b)
            assert isinstance(kind, PlainKind)
            size = max(len(x), kind.count)
            made = [self.new(self.model.mul_plain(self.noise(x[i if len(x) > 1 else 0], a))) for i in range(size)]
            return tuple(made)
        y = self.registers[b]
        results = []
        for i in range(max(len(x), len(y))):
            p, q = x[i if len(x) > 1 else 0], y[i if len(y) > 1 else 0]
            first, second = self.noise(p, a), self.noise(q, b)
            if p.keys().isdisjoint(q.keys()):
                noise = self.product(first, second, relinearized=relinearized)
            else:  # as if both were the noisier of the two
                noise = self.square(max(first, second, key=lambda n: n.worst), relinearized=relinearized)
            phases = (self.phases[r][i if len(self.phases[r]) > 1 else 0] for r in (a, b))
            results.append(self.of_same_phases(noise, *sorted(phases)))
        return tuple(results)

    def of_same_phases(self, noise: Noise, first: int, second: int) -> Held:
        """The product of two phases: the source that an earlier one is, as often as the noise says."""
        number = self.of_phases.get((first, second))
        if number is None:
            held = self.new(noise)
            self.of_phases[first, second] = len(self.sources) - 1
            return held
        more = (self.model.variance(noise) - self.model.variance(self.sources[number])) / 2
        return {(number, 0): max(more, noise.worst - self.sources[number].worst, 0.0)}

    def sums(self, array: Sequence[Held], groups: int) -> tuple[Held, ...]:
        """Neighbours added up."""
        size = len(array) // groups
        totals = []
        for group in range(groups):
            total = array[group * size]
            for held in array[group * size + 1 : (group + 1) * size]:
                total = self.add(total, held)
            totals.append(total)
        return tuple(totals)

    def diag_sums(self, instruction: Instruction) -> list[tuple[Held, ...]]:
        """Sums of turned copies of each of an array times plaintexts."""
        num_keys, num_giants, *pairs = instruction.immediate
        digits, *rest = (o.register for o in instruction.operands)
        found: list[list[Held]] = [[] for _ in range(num_giants)]
        for x in self.registers[digits]:
            babies = [x]
            for register in rest[:num_keys]:
                key = self.kind(register)
                assert isinstance(key, KeyKind)
                babies.append(
                    self.add(self.turned(x, key, self.slots(instruction)), self.new(self.switching(self.level(digits))))
                )
            factors = [self.model.mul_plain(self.noise(baby, digits)) for baby in babies]
            totals: list[Held] = [{} for _ in range(num_giants)]
            for baby, giant in zip(pairs[::2], pairs[1::2], strict=True):
                totals[giant] = self.add(totals[giant], self.new(factors[baby]))
            for giant, total in enumerate(totals):
                found[giant].append(total)
        return [tuple(array) for array in found]

    def map_sums(self, instruction: Instruction) -> tuple[Held, ...]:
        """Inner sums of a block map."""
        sums = self.code.constants[instruction.immediate[0]]
        assert isinstance(sums, MapSums)
        source = instruction.operands[0].register
        x, products = self.registers[source], sums.products
        totals: list[Held] = [{} for _ in products.groups]
        factors: dict[tuple[int, int], Noise] = {}
        for in_, baby, group in products.rows.tolist():
            if (in_, baby) not in factors:
                held = self.add(x[in_], self.new(self.switching(self.level(source)))) if baby else x[in_]
                factors[in_, baby] = self.model.mul_plain(self.noise(held, source))
            totals[group] = self.add(totals[group], self.new(factors[in_, baby]))
        return tuple(totals)


def nothing(level: int) -> Noise:
    """No noise."""
    return Noise(level, (-inf,), -inf)

"""The noise that a BFV plan leaves in every ciphertext, by the noise model, before anything runs.

What a ciphertext holds is followed as a sum of independent sources: a fresh encryption, a product, a rounding. Sums of
values that share sources add them up coherently, so that x + x counts twice, and not sqrt(2) times; rotated copies of a
source are as good as independent of it. What a product multiplies the noise of one factor with is the other one as an
integer polynomial, its phase, which a public number added leaves nearly as it is: a * (b + 1) and a * (b + 2) have the
same noise, and are one source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count
from math import log2
from typing import Any

from latticework.errors import UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.executable import Executable
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.walk import Body, Domain, Site, Walk
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bfv_chain import ChainShape
from latticework.plan.parameters.bfv_noise import Noise, ShapeNoiseModel, add_rounding, log_sum, no_noise
from latticework.plan.schema.schema import Plan
from latticework.values.packing.key_manifest import KeySpec, galois_action
from latticework.values.packing.packed_constants import ConstRef

MAX_SOURCES = 2048  # of one value; more are taken for one that is as large as if all were the same
Source = tuple[int, int]  # its number, and by how many steps it is rotated
Terms = dict[Source, float]  # log2 of the factor that it stands in a value with
OnNoise = Callable[[int, tuple[Noise, ...]], None]


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
    raises      UnsupportedError for loops, whose noise grows with every iteration
    """
    return _Noise(code, chain, on_noise).outputs(public_key, inputs)


def output_budgets(plan: Plan, *, public_key: bool = True) -> list[float]:
    """The noise budget in bits to be expected of each output: that of the noisiest of its ciphertexts."""
    model = ShapeNoiseModel(ChainShape(plan.chain))
    left = [model.budget(noise) for noise in noise_of_outputs(plan, plan.chain, public_key=public_key)]
    counts = [output.pack.count for output in plan.client.outputs]
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return [min(left[start : start + size]) for start, size in zip(starts, counts, strict=True)]


@dataclass(slots=True, eq=False)
class AbstractNoise:
    """The noise of one ciphertext, as a sum of sources.

    terms  log2 of the factor with which each source stands in it;  phase  a number, equal where phases are nearly so
    masked  its noise after a product with a plaintext, once somebody asked
    """

    terms: Terms
    phase: int
    masked: Noise | None = None


class _Noise(Domain):
    """Noise as a domain: a tuple of `AbstractNoise` for each register, None for a plaintext."""

    def __init__(self, code: Executable, chain: ModulusChain, on_noise: OnNoise | None) -> None:
        self.code = code
        self.model = ShapeNoiseModel(ChainShape(chain))
        self.on_noise = on_noise
        self.walk = Walk(code, chain, self)
        body = code.blocks[0]
        self.kinds = [code.kinds[code.registers[r]] for r in body.arguments]
        top = max((k.level for k in self.kinds if isinstance(k, CipherKind)), default=0)
        self.shift = self.model.parameters.levels - top
        self.sources: list[Noise] = []
        self.unused_phases = count()
        self.rotated_phases: dict[tuple[int, int], int] = {}
        self.product_sources: dict[tuple[int, int], int] = {}  # source of the products of two phases
        self.product = lru_cache(maxsize=4096)(self.model.mul)
        self.square = lru_cache(maxsize=4096)(self.model.square)
        self.switching = lru_cache(maxsize=64)(lambda level: self.model.rotate(no_noise(level)))

    def outputs(self, public_key: bool, inputs: Mapping[int, Noise]) -> list[Noise]:
        """Follow the code."""
        arguments = []
        for number, kind in enumerate(self.kinds):
            if not isinstance(kind, CipherKind):
                raise UnsupportedError("BFV plans have no run-time integers")
            noise = inputs.get(number) or self.model.fresh(public_key=public_key)
            fresh = replace(noise, level=kind.level + self.shift)
            arguments.append(tuple([self.add_source(fresh) for _ in range(kind.count)]))
        yielded = self.code.blocks[0].code[-1].operands
        values = self.walk.run(0, arguments)
        return [n for o, array in zip(yielded, values, strict=True) for n in self.noises(o.register, array)]

    def step(self, site: Site, operands: list[Any]) -> Sequence[Any]:
        """Return the noise that an instruction leaves in its results."""
        if "bfv" not in site.record.signature.schemes:
            raise UnsupportedError(f"{site.record.name}: BFV plans have no such operation")
        outcome = site.record.error(self, site.use, *operands)
        return outcome if isinstance(outcome, list) else [outcome]

    def loop(self, _site: Site, _trip_count: int | None, _carried: Sequence[Any], _body: Body) -> Sequence[Any]:
        """Refuse: noise grows with every iteration, and how far it may is not known."""
        raise UnsupportedError("for: BFV plans have no such operation")

    def hold(self, register: int, value: Any) -> None:
        """Report the noise of a register over Q to `on_noise`."""
        kind = self.code.kinds[self.code.registers[register]]
        if self.on_noise is not None and isinstance(kind, CipherKind) and kind.basis == 0:
            self.on_noise(register, self.noises(register, value))

    def noises(self, register: int, array: tuple[AbstractNoise, ...]) -> tuple[Noise, ...]:
        """Return the noise of each ciphertext of a register."""
        kind = self.code.kinds[self.code.registers[register]]
        return tuple([self.noise(value, kind) for value in array])

    # -- values as sums of sources -----------------------------------------------------------

    def add_source(self, noise: Noise, phase: int | None = None) -> AbstractNoise:
        """A value of which a new source is all there is; its phase is new too, unless it is given."""
        self.sources.append(noise)
        return self.noise_of_terms({(len(self.sources) - 1, 0): 0.0}, phase)

    def noise_of_terms(self, terms: Terms, phase: int | None = None) -> AbstractNoise:
        """Return a value of these terms, of a new phase unless one is given."""
        return AbstractNoise(terms, next(self.unused_phases) if phase is None else phase)

    def level(self, kind: Any) -> int:
        """The level of a register, in the chain that the noise is for."""
        level: int = kind.level + self.shift
        return level

    def noise(self, value: AbstractNoise, kind: Any) -> Noise:
        """Return the noise of all of a value's sources together."""
        sources = [(self.sources[number], factor) for (number, _), factor in value.terms.items()]
        length = max((len(noise.variances) for noise, _ in sources), default=1)
        variances = tuple(
            log_sum(*(n.variances[i] + 2 * factor for n, factor in sources if i < len(n.variances)))
            for i in range(length)
        )
        return Noise(self.level(kind), variances, log_sum(*(n.worst + factor for n, factor in sources)))

    def with_source(
        self, a: AbstractNoise, noise: Noise, terms: Terms | None = None, phase: int | None = None
    ) -> AbstractNoise:
        """A value, or these terms of it, and a new source on top."""
        self.sources.append(noise)
        more = {(len(self.sources) - 1, 0): 0.0}
        return self.noise_of_terms(self.add_terms(a.terms if terms is None else terms, more), phase)

    def add_terms(self, a: Terms, b: Terms) -> Terms:
        """Return the terms of a sum."""
        if len(a) < len(b):
            a, b = b, a
        total = dict(a)
        for source, factor in b.items():
            total[source] = log_sum(total[source], factor) if source in total else factor
        return total if len(total) <= MAX_SOURCES else self.as_one(total)

    def as_one(self, terms: Terms) -> Terms:
        """One source for all, as large as if they were coherent."""
        sources = [(self.sources[number], factor) for (number, _), factor in terms.items()]
        length = max(len(noise.variances) for noise, _ in sources)
        variances = tuple(
            2 * log_sum(*(n.variances[i] / 2 + factor for n, factor in sources if i < len(n.variances)))
            for i in range(length)
        )
        return self.add_source(Noise(sources[0][0].level, variances, log_sum(*(n.worst + f for n, f in sources)))).terms

    # -- what rules of errors ask for --------------------------------------------------------

    def zero(self) -> AbstractNoise:
        """Return an empty sum."""
        return self.noise_of_terms({})

    def encode_constant(self, constant: ConstRef, _scale: float) -> tuple[None, ...]:
        """Plaintexts have no noise."""
        return (None,) * constant.count

    def trivial(self, use: Use, _plain: None) -> AbstractNoise:
        """Encrypt a plaintext trivially: its noise is the rounding of Q / t."""
        return self.add_source(self.model.add_plain(no_noise(self.level(use.stated))))

    def plus(self, a: AbstractNoise, b: AbstractNoise) -> AbstractNoise:
        """Add two values."""
        return self.noise_of_terms(self.add_terms(a.terms, b.terms))

    def add(self, _use: Use, a: AbstractNoise, b: AbstractNoise) -> AbstractNoise:
        """Add two ciphertexts; all scales are 1."""
        return self.plus(a, b)

    def add_integer(self, use: Use, a: AbstractNoise) -> AbstractNoise:
        """A public number leaves the phase nearly as it is."""
        return self.with_source(a, self.model.add_plain(no_noise(self.level(use.operands[0]))), phase=a.phase)

    def add_plain(self, use: Use, a: AbstractNoise, _plain: None) -> AbstractNoise:
        """Add a public vector, which leaves the phase nearly as it is."""
        return self.add_integer(use, a)

    def mul_integer(self, use: Use, a: AbstractNoise) -> AbstractNoise:
        """Multiply a value by the instruction's number."""
        factor = abs(use.immediate[0])
        terms = {source: before + log2(factor) for source, before in a.terms.items()} if factor else {}
        return self.noise_of_terms(terms, a.phase)

    def reread(self, _use: Use, a: AbstractNoise) -> AbstractNoise:
        """Return the value as it is: all scales are 1."""
        return a

    def mul_plain(self, use: Use, a: AbstractNoise, _plain: None) -> AbstractNoise:
        """Multiply with a plaintext, every product taken for one with another plaintext."""
        if a.masked is None:
            a.masked = self.model.mul_plain(self.noise(a, use.operands[0]))
        return self.add_source(a.masked)

    def mul(self, use: Use, a: AbstractNoise, b: AbstractNoise, *, relinearized: bool = False) -> AbstractNoise:
        """A product: of two phases, the source that an earlier one of them is, as often as the noise says."""
        first, second = self.noise(a, use.operands[0]), self.noise(b, use.operands[0])
        if a.terms.keys().isdisjoint(b.terms.keys()):
            noise = self.product(first, second, relinearized=relinearized)
        else:  # as if both were the noisier of the two
            noise = self.square(max(first, second, key=lambda n: n.worst), relinearized=relinearized)
        phases = min(a.phase, b.phase), max(a.phase, b.phase)
        number = self.product_sources.get(phases)
        if number is None:
            self.product_sources[phases] = len(self.sources)
            return self.add_source(noise)
        more = (self.model.variance(noise) - self.model.variance(self.sources[number])) / 2
        return self.noise_of_terms({(number, 0): max(more, noise.worst - self.sources[number].worst, 0.0)})

    def mul_relinearize(self, use: Use, a: AbstractNoise, b: AbstractNoise) -> AbstractNoise:
        """Multiply, with the noise of a key switch."""
        return self.mul(use, a, b, relinearized=True)

    def key_product(self, use: Use, a: AbstractNoise, key: KeySpec) -> AbstractNoise:
        """Turned, and with the noise of a key switch."""
        kind, terms = use.operands[0], a.terms
        if key.kind == "galois":
            steps, _ = galois_action(key.galois_element, kind.slots)
            terms = {(number, (before + steps) % kind.slots): factor for (number, before), factor in terms.items()}
        rotation = (a.phase, key.galois_element)
        if rotation not in self.rotated_phases:
            self.rotated_phases[rotation] = next(self.unused_phases)
        return self.with_source(a, self.switching(self.level(kind)), terms, self.rotated_phases[rotation])

    def key_switch(self, use: Use, a: AbstractNoise, key: KeySpec) -> AbstractNoise:
        """The same, and divided where the division goes down levels."""
        switched = self.key_product(use, a, key)
        return switched if use.stated.level == use.operands[0].level else self.mod_down(use, switched)

    def mod_down(self, use: Use, a: AbstractNoise) -> AbstractNoise:
        """Divided, and rounded."""
        level, lower = self.level(use.operands[0]), self.level(use.stated)
        divided = self.model.parameters.log2_q(lower) - self.model.parameters.log2_q(level)
        terms = {source: before + divided for source, before in a.terms.items()}
        rounding = add_rounding(no_noise(lower), use.stated.degree, self.model.parameters.secret_sum)
        return self.with_source(a, rounding, terms, a.phase)

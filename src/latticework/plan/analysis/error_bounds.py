"""Error bounds as a domain: what a plan's outputs may be off by, without running it on any value.

A register has one bound a vector, so that errors of the vectors of an array, which come from encryptions of their
own, add up as independent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.error_model import Bound, ErrorModel, Source, fit
from latticework.plan.instructions.executable import Executable
from latticework.plan.instructions.register_kinds import CipherKind, Kind
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.walk import Domain, Site, Walk
from latticework.plan.parameters.bootstrap_noise import BootstrapStep
from latticework.plan.schema.bootstraps import steps_of
from latticework.plan.schema.schema import IndexInput, Plan
from latticework.values.packing.key_manifest import KeySpec, galois_action
from latticework.values.packing.packed_constants import ConstRef, NumberMatrix
from latticework.values.packing.slot_arrays import as_vectors

OnBound = Callable[[int, Bound], None]
Bounds = tuple[Bound, ...]
Item = Bounds | int | KeySpec


@dataclass(frozen=True, slots=True)
class Magnitude:
    """Known size of a secret input: a bound on the magnitude of its slots, and their root mean square."""

    peak: float
    rms: float

    @staticmethod
    def of(values: npt.ArrayLike) -> Magnitude:
        """Return the magnitude of an example."""
        sizes = np.abs(np.asarray(values))
        return Magnitude(float(np.max(sizes, initial=0.0)), float(np.sqrt(np.mean(sizes**2))) if sizes.size else 0.0)


def predict(
    plan: Plan, inputs: Sequence[Magnitude | int], *, public_key: bool = False, on_bound: OnBound | None = None
) -> list[Bound]:
    """Bounds of a plan's packed outputs, each of the worst of its vectors.

    inputs      one magnitude per secret input, an int per index input, in order
    public_key  inputs are encrypted under the public key
    on_bound    called with (register, bound) for every ciphertext; for arrays, vector after vector
    raises      RangeError for a trip count out of bounds, UnsupportedError for the code of a bootstrap, whose error is
                not linear in its input's, where the plan does not say what one leaves, and for BFV, which has none
    """
    if plan.chain.scheme != "ckks":
        raise UnsupportedError("predict: results of this plan are exact; output_budgets says how much noise is left")
    run = _Bounds(plan, ErrorModel(plan.chain), plan.sources, on_bound)
    run.bootstraps = {number: step for number, (_, step) in steps_of(plan).items()}
    items: list[Item] = []
    for spec, known in zip(plan.client.inputs, inputs, strict=True):
        if isinstance(spec, IndexInput):
            assert isinstance(known, int)
            items.append(known)
        else:
            assert isinstance(known, Magnitude)
            place = spec.pack.slots, spec.scale
            fresh = run.model.fresh
            items.append(
                tuple(fresh(known.peak, known.rms, *place, public_key=public_key) for _ in range(spec.pack.count))
            )
    return [worst_of(bounds) for bounds in run.walk.run(0, items) if isinstance(bounds, tuple)]


def worst_of(bounds: Sequence[Bound]) -> Bound:
    """Return one bound that holds for each of several vectors."""
    if len(bounds) == 1:
        return bounds[0]
    lineages = [b.lineage for b in bounds if b.lineage is not None]
    return Bound(
        max(b.peak for b in bounds),
        max(b.rms for b in bounds),
        max(b.average for b in bounds),
        max(b.worst for b in bounds),
        frozenset[Source]().union(*lineages) if len(lineages) == len(bounds) else None,
    )


def carry(
    steps: Executable, sources: Mapping[str, npt.NDArray[Any]], model: ErrorModel, x: Bound
) -> tuple[Bound, CipherKind]:
    """The bound that steps from one ciphertext to one, or to an array, make of x, and what kind of register it is of.

    It is infinite where some value on the way may wrap around the modulus.

    raises  UnsupportedError for a bootstrap
    """
    run = _Bounds(steps, model, sources, wraps=True)
    (result,) = run.walk.run(0, [(x,)])
    kind = steps.kinds[steps.registers[steps.blocks[0].code[-1].operands[0].register]]
    assert isinstance(kind, CipherKind)
    return worst_of(result), kind


def bounds_of_outputs(
    code: Executable, sources: Mapping[str, npt.NDArray[Any]], model: ErrorModel, inputs: Sequence[Bounds]
) -> list[Bounds]:
    """The bounds of every array of ciphertexts that code gives out, of arrays whose bounds are known.

    raises  UnsupportedError for a bootstrap
    """
    return [bounds for bounds in _Bounds(code, model, sources).walk.run(0, inputs) if isinstance(bounds, tuple)]


class _Bounds(Domain):
    """Bounds as values of registers, one for each vector."""

    def __init__(
        self,
        code: Executable,
        model: ErrorModel,
        sources: Mapping[str, npt.NDArray[Any]],
        on_bound: OnBound | None = None,
        *,
        wraps: bool = False,
    ) -> None:
        self.model = model
        self.wraps = wraps
        self.code = code
        self.sources = sources
        self.on_bound = on_bound
        self.walk = Walk(code, model.chain, self)
        self.bootstraps: Mapping[int, BootstrapStep] = {}
        self.constants: dict[tuple[ConstRef, float], Bounds] = {}
        self.plus = model.add

    def step(self, site: Site, operands: list[Any]) -> Sequence[Bounds]:
        """Return the bounds of an instruction's results."""
        if self.model.chain.scheme not in site.record.signature.schemes:
            raise UnsupportedError(f"{site.record.name}: CKKS plans have no such operation")
        outcome = site.record.error(self, site.use, *operands)
        results: list[Bounds] = outcome if isinstance(outcome, list) else [outcome]
        if self.wraps:
            kinds = [self.code.kinds[self.code.registers[register]] for register in site.instruction.results]
            results = [self.limit(bounds, kind) for bounds, kind in zip(results, kinds, strict=True)]
        if self.on_bound is not None:
            for register, bounds in zip(site.instruction.results, results, strict=True):
                for bound in bounds:
                    self.on_bound(register, bound)
        return results

    def call(self, site: Site, operands: Sequence[Any], follow: Callable[[], list[Any]]) -> Sequence[Any]:
        """A bootstrap is one step, where it is known what it leaves."""
        step = self.bootstraps.get(site.instruction.immediate[0])
        return follow() if step is None else [tuple([self.model.bootstrap(a, step) for a in operands[0]])]

    def limit(self, bounds: Bounds, kind: Kind) -> Bounds:
        """Return bounds of ciphertexts, infinite where values may wrap around the modulus."""
        if not isinstance(kind, CipherKind) or kind.basis != 0:
            return bounds
        modulus = self.model.chain.modulus(kind.level, kind.track)
        return tuple([fit(bound, modulus, kind.scale) for bound in bounds])

    # -- what rules of errors ask for --------------------------------------------------------

    def zero(self) -> Bound:
        """Return an empty sum."""
        return Bound(0.0, 0.0)

    def encode_constant(self, constant: ConstRef, scale: float) -> Bounds:
        """Bound a public array as the encoder rounds it."""
        bounds = self.constants.get((constant, scale))
        if bounds is None:
            known = [Magnitude.of(v) for v in as_vectors(constant.evaluate(self.sources))]
            bounds = tuple(self.model.encode(k.peak, k.rms, constant.slots, scale) for k in known)
            self.constants[constant, scale] = bounds
        return bounds

    def trivial(self, _use: Use, plain: Bound) -> Bound:
        """Return the bound of the plaintext."""
        return plain

    def add(self, use: Use, a: Bound, b: Bound) -> Bound:
        """A sum, the second operand taken for one at the result's scale."""
        return self.model.add(a, self.model.relabel(b, use.operands[1].scale, use.stated.scale))

    add_plain = add

    def add_integer(self, use: Use, a: Bound) -> Bound:
        """A sum with an integer, which stands for any number near it."""
        size, rounding = abs(use.immediate[0]) / use.stated.scale, 0.5 / use.stated.scale
        return self.model.add(a, Bound(size, size, rounding, rounding))

    def mul(self, _use: Use, a: Bound, b: Bound) -> Bound:
        """Multiply two bounds."""
        return self.model.mul(a, b)

    mul_plain = mul_relinearize = mul

    def multiply_matrix(self, use: Use, matrix: NumberMatrix, a: Bounds) -> Bounds:
        """Sums of the vectors times numbers, which are off by how they are rounded."""
        scale = use.stated.scale / use.operands[0].scale
        exact, rounded = matrix.evaluate(self.sources), matrix.integers(self.sources, scale) / scale
        return self.model.multiply_matrix(exact, rounded - exact, a)

    def mul_integer(self, use: Use, a: Bound) -> Bound:
        """A product with an integer, read at the result's scale."""
        return a.times(use.immediate[0] * (use.operands[0].scale / use.stated.scale))

    def reread(self, use: Use, a: Bound) -> Bound:
        """Read the same integers at the result's scale."""
        return a.times(use.operands[0].scale / use.stated.scale)

    def key_product(self, use: Use, a: Bound, key: KeySpec) -> Bound:
        """Add the noise of a key product, and rotate as the key does."""
        kind = use.operands[0]
        a = self.model.key_product(a, kind.slots, kind.scale, kind.level, kind.track)
        if key.kind != "galois":
            return a
        steps, conjugated = galois_action(key.galois_element, kind.slots)
        return a.turned(steps, kind.slots, conjugated=conjugated)

    def key_switch(self, use: Use, a: Bound, key: KeySpec) -> Bound:
        """Bound a key product, and the division after it."""
        return self.model.mod_down(self.key_product(use, a, key), use.stated.slots, use.stated.scale)

    def mod_down(self, use: Use, a: Bound) -> Bound:
        """Add the rounding error of a division."""
        return self.model.mod_down(a, use.stated.slots, use.stated.scale, use.stated.degree)

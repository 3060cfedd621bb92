"""Times of whole bootstraps, by set, target, width and kind of slots.

What the operations of a bootstrap add up to by their own prices is two thirds of what it takes: its keys and matrices
are read from memory once each, and prices are of operations whose operands are at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latticework.compiler.codegen.bootstrap_plans import bootstrap_plan
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.files.code_file import encode_code
from latticework.plan.machine.timing import best_of, clock_of, round_seconds
from latticework.plan.parameters import ModulusChain, bootstrap_chain
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.schema.schema import Plan
from latticework.values.extension import _core
from latticework.values.packing.packed_constants import ConstRef

Slots = npt.NDArray[np.complex128]
CONSTANT_BYTES = 6 << 30  # holds the matrices of A14, and what a run works in; with less either comes anew in every run
NARROW = 16  # vectors of so many times fewer slots than the ring has are measured too


class MeasuredBootstrap(NamedTuple):
    """One kind of bootstrap to be measured."""

    name: str
    target: int
    slots: int
    real: bool

    def __str__(self) -> str:
        """The bootstrap's label in progress messages."""
        slots = f"{self.slots} {'real' if self.real else 'complex'} slots"
        return f"bootstrap of {self.name} to level {self.target}, {slots}"


def kinds_of(name: str) -> list[MeasuredBootstrap]:
    """List the bootstraps to measure of a set, to one level, half and all, of all slots; to all of few slots."""
    chain = bootstrap_chain(name)
    most = chain.main.top - chain.floor
    wide = [(target, chain.slots) for target in sorted({1, (most + 1) // 2, most})]
    return [
        MeasuredBootstrap(name, target, slots, real)
        for target, slots in [*wide, (most, chain.slots // NARROW)]
        for real in (False, True)
    ]


class EncryptedBootstrap:
    """One bootstrap with keys of its own: what a client and a server would hold."""

    def __init__(
        self,
        chain: ModulusChain,
        plan: Plan,
        *,
        slots: int | None = None,
        threads: int = 0,
        constant_bytes: int = CONSTANT_BYTES,
        backend: str = "auto",
    ) -> None:
        """Make keys and an executor for a plan of `slots` slots; None: all that the chain has."""
        self.chain, self.slots, self.plan = chain, slots or chain.slots, plan
        parameters = core_parameters(chain)
        self.context = _core.Context(parameters, backend, threads)
        generator = _core.KeyGenerator(self.context)
        secret = generator.secret_key()
        self.keys = generator.evaluation_keys(
            secret,
            [
                {"kind": k.kind, "galois_element": k.galois_element, "track": k.track, "level": k.level}
                for k in self.plan.keys
            ],
        )
        self.encoder = _core.Encoder(self.context)
        self.encryptor = _core.Encryptor(self.context, secret)
        self.decryptor = _core.Decryptor(self.context, secret)
        self.constant_bytes = constant_bytes
        self.executor = self._executor()

    def on_threads(self, threads: int) -> EncryptedBootstrap:
        """Return the same bootstrap with the same keys on so many threads; it encodes matrices of its own."""
        other = copy(self)
        other.context = _core.Context(core_parameters(self.chain), self.context.backend, threads)
        other.executor = other._executor()
        return other

    def _executor(self) -> _core.Executor:
        code = _core.Plan(core_parameters(self.chain), encode_code(self.plan))
        return _core.Executor(self.context, code, self.keys, _source(self.plan), self.constant_bytes)

    def encrypt(self, x: Slots) -> _core.Ciphertext:
        """A fresh ciphertext at the floor."""
        place = (0, self.chain.floor)
        return self.encryptor.encrypt(self.encoder.encode(x, place, self.chain.main.scales[self.chain.floor]))

    def run(self, x: _core.Ciphertext) -> _core.Ciphertext:
        """The bootstrap."""
        (result,) = self.executor.run([x])
        assert isinstance(result, _core.Ciphertext), "a bootstrap makes one vector"
        return result

    def drop_to_floor(self, x: _core.Ciphertext) -> _core.Ciphertext:
        """A result at the floor again: x without its upper levels, on the scale of the floor."""
        floor, scale = self.chain.floor, self.chain.main.scales[self.chain.floor]
        evaluator = _core.Evaluator(self.context)
        wide = scale * self.chain.group_product(floor + 1)
        dropped = x if x.level == (0, floor + 1) else evaluator.drop_level(x, (0, floor + 1))
        return evaluator.mod_down(evaluator.mul_int(dropped, round(wide / x.scale), wide), (0, floor), scale)

    def decrypt(self, x: _core.Ciphertext) -> Slots:
        """Slots of a result."""
        return np.asarray(self.decryptor.decrypt(x))


def _source(plan: Plan) -> Callable[[int], Slots]:
    """Make the source of a plan's constants. Not a method of what holds the executor: that circle would hold all keys
    until the collector of circles comes by, and the next keys would be made beside them."""
    constants = plan.constants

    def values(number: int) -> Slots:
        constant = constants[number]
        assert isinstance(constant, ConstRef), "bootstraps have no sums of maps"
        return constant.evaluate({}).astype(np.complex128, copy=False)

    return values


def bootstrap_row(kind: MeasuredBootstrap, model: CostModel, backend: str, threads: int, rounds: int) -> dict[str, Any]:
    """The row of a cost table for a kind of bootstrap: the best of some runs with encoded matrices.

    model  of the other prices of the table
    """
    chain = bootstrap_chain(kind.name)
    plan = bootstrap_plan(chain, kind.slots, kind.target, real=kind.real)
    case = EncryptedBootstrap(chain, plan, slots=kind.slots, threads=threads, backend=backend)
    x = case.encrypt(np.linspace(-1, 1, kind.slots).astype(np.complex128))
    case.run(x)
    seconds = best_of(lambda: case.run(x), rounds, clock_of(threads))
    return {
        "set": kind.name,
        "ring_degree": chain.ring_degree,
        "q_limbs": len(chain.primes),
        "p_limbs": len(chain.special),
        "target": kind.target,
        "slots": kind.slots,
        "real": kind.real,
        "expected": round_seconds(estimate(case.plan, model).warm_seconds),
        "seconds": round_seconds(seconds),
    }

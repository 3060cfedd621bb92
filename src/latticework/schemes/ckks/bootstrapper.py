"""Bootstrapping: a ciphertext with few levels left becomes one of the same slots with many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latticework.compiler.codegen import bootstrap_plans as bootstrapping
from latticework.compiler.codegen.bootstrap_plans import Precision
from latticework.compiler.expand.primitive_builder import Primitives
from latticework.errors import LevelError, ShapeError, UserError
from latticework.ir import Module, Value
from latticework.ir.dialects.rlwe_dialect import Level
from latticework.plan.parameters import BOOTSTRAP_SETS, BootstrapSet, ModulusChain, bootstrap_chain
from latticework.plan.parameters.bootstrap_noise import BootstrapStep
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.ckks.planned import Place, PlannedOperation, PlannedStep
from latticework.schemes.rlwe.checks import fail, needs, whole
from latticework.schemes.rlwe.parameters import need_special
from latticework.values.packing.key_manifest import KeySpec


class Bootstrapper(PlannedOperation):
    """Slots in [-1, 1] (both parts) at the floor of a bootstrapping chain, or above, to a higher level.

    parameters    a set by name ("A14", "A17", ..: `Bootstrapper.sets()`), one's own, or Parameters made from one
    slots         length of the vectors, N/2 if not given: shorter ones are not cheaper by much, but more precise
    target_level  level of the result, the highest if not given: lower ones are cheaper
    real          the slots are real: half the work, imaginary parts are dropped
    iterations    2: the error of the first bootstrap is bootstrapped too, for about twice the precision
    """

    name = "bootstrap"

    def __init__(
        self,
        parameters: str | BootstrapSet | Parameters = "A14",
        *,
        slots: int | None = None,
        target_level: int | None = None,
        real: bool = False,
        iterations: int = 1,
    ) -> None:
        super().__init__()
        if isinstance(parameters, str) and parameters not in BOOTSTRAP_SETS:
            fail(UserError, f"Bootstrapper: there is no set {parameters!r}; there are {', '.join(BOOTSTRAP_SETS)}")
        made = parameters if isinstance(parameters, Parameters) else Parameters.of_chain(bootstrap_chain(parameters))
        need_special("Bootstrapper", made)
        if made.chain.bootstrap is None:
            fail(LevelError, "Bootstrapper: these parameters have no levels for it; use Bootstrapper(name).parameters")
        self.parameters = made
        width = made.slots if slots is None else whole("Bootstrapper: slots", slots)
        if not 1 <= width <= made.slots or width & (width - 1):
            fail(ShapeError, f"Bootstrapper: slots={width}; give a power of two up to {made.slots}")
        self._slots = width
        top = made.levels if target_level is None else made.check_level("Bootstrapper: target_level", target_level)
        if top <= self.floor:
            fail(
                LevelError,
                f"Bootstrapper: target_level={top}; bootstraps start at level {self.floor} and end above, up to "
                f"{made.levels}",
            )
        self.target_level = top
        self.real = bool(real)
        self.iterations = whole("Bootstrapper: iterations", iterations)
        if self.iterations not in (1, 2):
            fail(UserError, f"Bootstrapper: iterations={iterations}; 1 or 2 are possible")

    @staticmethod
    def sets() -> tuple[str, ...]:
        """Names of the parameter sets; T11 and T12 are INSECURE, for tests."""
        return tuple(BOOTSTRAP_SETS)

    @property
    def floor(self) -> int:
        """The lowest level at which a ciphertext can be bootstrapped."""
        return self.parameters.chain.floor

    @property
    def slots(self) -> int:
        """Length of the vectors."""
        return self._slots

    @property
    def depth(self) -> int:
        """Levels that an operand has to have: those on which slots become coefficients."""
        return self.floor

    def required_keys(
        self, parameters: Parameters | None = None, *, level: int | None = None, slots: int | None = None
    ) -> tuple[KeySpec, ...]:
        """Every evaluation key of the bootstrap, the pair for the sparse secret included. Nothing has to be given."""
        return super().required_keys(
            parameters or self.parameters, level=self.floor if level is None else level, slots=slots
        )

    def bootstrap(self, x: Ciphertext | Sequence[Ciphertext]) -> Ciphertext | list[Ciphertext]:
        """The same slots at `target_level`, with the keys of the ciphertext's evaluator; a list for a list."""
        if isinstance(x, list | tuple):
            return [self._one(y) for y in x]
        return self._one(x)

    def _one(self, x: Any) -> Ciphertext:
        needs("bootstrap: the operand", x, Ciphertext, "give a ckks.Ciphertext, or a list of them")
        found: Ciphertext = x._exactly("bootstrap", self)
        return found

    def predicted_precision(self) -> Precision:
        """Bits that uniform random slots keep, by the noise model: root mean square, and typical largest error.

        It takes seconds. Neither is a bound: `Estimator.bootstrap` has one.
        """
        return bootstrapping.predict_precision(
            self.parameters.chain,
            self.target_level - self.floor,
            slots=self._slots,
            real=self.real,
            iterations=self.iterations,
        )

    def failure_probability_log2(self) -> float:
        """log2 of the probability that a bootstrap gives a wrong slot."""
        return bootstrapping.failure_probability_log2(self.parameters.chain, slots=self._slots, real=self.real)

    def _build(self, p: Primitives, x: Value, module: Module) -> Value:
        """The symbolic operation that the compiler expands."""
        level = self.target_level
        return p.builder.build(
            "ckks.bootstrap",
            [x],
            level=Level(0, level),
            scale=p.chain.main.scales[level],
            real=self.real,
            iterations=self.iterations,
        )

    def _step(self, chain: ModulusChain, place: Place) -> PlannedStep:
        """Return the bootstrap as one step of the noise model, with the level and scale of its results."""
        scale = chain.main.scales[self.target_level]
        noise, end = bootstrapping.noise_of(chain), (self.target_level, scale)
        return PlannedStep(BootstrapStep.of(chain, noise, place.slots, place.scale, end, self.iterations), *end)

    def _check_place(self, place: Place) -> None:
        if place.level < self.floor:
            fail(
                LevelError,
                f"bootstrap: the ciphertext is at level {place.level}; it spends the last {self.floor} "
                f"levels, so bootstrap at level {self.floor} or above",
            )
        super()._check_place(place)

    def __repr__(self) -> str:
        kind = ", real" if self.real else ""
        return (
            f"Bootstrapper(N={self.parameters.ring_degree}, {self._slots} slots, level {self.floor} to "
            f"{self.target_level}{kind}, {self.iterations} iteration{'s' if self.iterations > 1 else ''})"
        )

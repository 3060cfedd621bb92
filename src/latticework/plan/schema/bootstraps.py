"""The blocks of a plan that are bootstraps, with what their types say of them."""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.executable import BootstrapBlock, Executable
from latticework.plan.instructions.register_kinds import MAIN, CipherKind
from latticework.plan.instructions.type_rules import Q
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bootstrap_noise import BootstrapNoise, BootstrapStep
from latticework.plan.schema.schema import Plan


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A kind of bootstrap.

    start, end  types of what goes in and of what comes out, which has as many vectors of as many slots
    target      levels above the floor that the result has
    real        imaginary parts are dropped
    iterations  2: the error of the first bootstrap is bootstrapped too
    """

    start: CipherKind
    end: CipherKind
    target: int
    real: bool
    iterations: int

    @property
    def slots(self) -> int:
        """Length of the vectors."""
        return self.start.slots

    @property
    def count(self) -> int:
        """Ciphertexts that are bootstrapped."""
        return self.start.count

    def step(self, chain: ModulusChain, noise: BootstrapNoise) -> BootstrapStep:
        """The same as one step, by what bootstraps with the chain leave."""
        end = self.end.level, self.end.scale
        return BootstrapStep.of(chain, noise, self.slots, self.start.scale, end, self.iterations)


def steps_of(plan: Plan) -> dict[int, tuple[Bootstrap, BootstrapStep]]:
    """Bootstraps as single steps, by the number of their block; none where what they leave is not known."""
    noise = plan.bootstrap_noise
    if noise is None:
        return {}
    return {number: (b, b.step(plan.chain, noise)) for number, b in bootstraps_of(plan, plan.chain).items()}


def bootstraps_of(code: Executable, chain: ModulusChain) -> dict[int, Bootstrap]:
    """Bootstraps by the number of their block.

    raises  ValueError naming a block that is none
    """
    kinds = {}
    for block in code.bootstraps:
        if block.block in kinds:
            raise ValueError(f"block {block.block} is said to be a bootstrap twice")
        kinds[block.block] = _bootstrap(code, chain, block)
    return kinds


def _bootstrap(code: Executable, chain: ModulusChain, stated: BootstrapBlock) -> Bootstrap:
    number = stated.block
    if not 0 < number < len(code.blocks) or stated.iterations not in (1, 2) or chain.bootstrap is None:
        raise ValueError(f"block {number} is no bootstrap of {stated.iterations} iterations")
    block = code.blocks[number]
    yielded = [operand.register for operand in block.code[-1].operands]
    kinds = [code.kinds[code.registers[r]] for r in (*block.arguments, *yielded)]
    if len(block.arguments) != 1 or len(yielded) != 1 or not all(_is_settled(kind) for kind in kinds):
        raise ValueError(f"block {number} is no bootstrap: it does not take one ciphertext of the main track to one")
    start, end = kinds
    assert isinstance(start, CipherKind) and isinstance(end, CipherKind)
    target = end.level - chain.floor
    if start.level != chain.floor or target < 1 or (start.slots, start.count) != (end.slots, end.count):
        raise ValueError(f"block {number} is no bootstrap: it goes from {start} to {end}, and starts at {chain.floor}")
    return Bootstrap(start, end, target, stated.real, stated.iterations)


def _is_settled(kind: object) -> bool:
    return isinstance(kind, CipherKind) and (kind.track, kind.degree, kind.basis, kind.secret) == (0, 1, Q, MAIN)

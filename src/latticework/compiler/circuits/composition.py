"""Circuits that go on with what others computed: the same parameters, and output ciphertexts that are inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from latticework.compiler.levels import program_depth
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.stage_results import Vectors
from latticework.errors import LayoutError, LevelError, ParameterMismatchError, UserError
from latticework.frontend import Circuit
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.fingerprint import fingerprint
from latticework.plan.schema.arguments import OutputLanes


@dataclass(frozen=True)
class SharedParameters:
    """Parameters and inputs that a circuit shares with other compiled circuits.

    chain    its parameters; None: they are free
    sources  groups, by number and name, that are outputs of compiled circuits
    """

    chain: ModulusChain | None
    sources: Mapping[str, OutputLanes]
    groups: frozenset[int]

    @property
    def width(self) -> int:
        """Slots of the vectors, or 0 where that is free."""
        return next((source.slots for source in self.sources.values()), 0)

    def is_alone(self, options: CompileOptions) -> bool:
        """Whether no other circuit has a part in the ciphertexts of this one."""
        return self.chain is None and not self.groups and not options.expert.spare_levels

    def noises(self, vectors: Vectors) -> dict[int, Any]:
        """The noise of inputs that are no fresh encryptions, by number."""
        names = enumerate(vectors.module.input_names)
        return {i: self.sources[name].noise for i, name in names if name in self.sources}

    def with_starts(self, vectors: Vectors, circuit: Circuit) -> Vectors:
        """The same with the level at which every input starts.

        raises  LevelError if there are too few
        """
        assert self.chain is not None
        top = self.chain.main.top
        names = vectors.module.input_names
        starts = tuple(self.sources[name].level - top if name in self.sources else 0 for name in names)
        depth = program_depth(vectors.module, starts)
        missing = depth - (top - self.chain.floor)
        if missing > 0:
            remedy = f"compile the circuit whose parameters it shares with spare_levels= larger by {missing}"
            if self.chain.bootstrap is not None:
                remedy = "parameters of a circuit that bootstraps have none to spare: leave like= out"
            raise LevelError(
                f"circuit {circuit.name} needs {missing} levels more than are left; {remedy}", at=circuit.loc
            )
        return replace(vectors, depth=depth, starts=starts)


def shared_parameters(circuit: Circuit, like: Any, scheme: str) -> SharedParameters:
    """Return what a circuit shares with the model `like`.

    raises  UserError or its kinds where inputs are outputs of circuits of other parameters
    """
    sources = {s.name: s.source for s in circuit.shared if s.source is not None}
    groups = frozenset(i for i, s in enumerate(circuit.shared) if s.source is not None)
    if like is None:
        if sources:
            first = next(iter(sources))
            raise UserError(
                f"circuit {circuit.name}: input {first} is computed by {sources[first].link.circuit}; compile with "
                "like= the model of that, so that both have the same parameters",
                at=circuit.loc,
            )
        return SharedParameters(None, {}, groups)
    chain = like.plan.chain
    if chain.scheme != scheme:
        raise UserError(f"compile: scheme={scheme!r}, but the model given as like= has {chain.scheme!r}")
    for name, source in sources.items():
        if source.parameters != fingerprint(chain):
            raise ParameterMismatchError(
                f"circuit {circuit.name}: input {name} is computed by {source.link.circuit} under other parameters "
                "than those of like=",
                at=circuit.loc,
            )
    if len({source.slots for source in sources.values()}) > 1:
        raise LayoutError(
            f"circuit {circuit.name}: its inputs are vectors of different lengths; compile the circuits that compute "
            "them with the same ring_degree",
            at=circuit.loc,
        )
    return SharedParameters(chain, sources, groups)

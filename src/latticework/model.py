"""A compiled program: reports, clients, servers, simulation and debugging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.debug import DebugReport, debug_run
from latticework.ir import Module, Value, interpret
from latticework.plan.schema import Plan
from latticework.plan.serialise import read_plan, write_plan
from latticework.plan.simulate import simulate
from latticework.report import Report, build_report
from latticework.runtime import Client, PublicKeys, Server
from latticework.runtime.server import DEFAULT_MEMORY


@dataclass(frozen=True)
class Reference:
    """The program on cleartext tensors, to run beside the plan: tensor IR with layouts, and the values' positions."""

    module: Module
    positions: Mapping[Value, int]


class Model:
    """A compiled program.

    plan  the program as it is run; serialisable, self-contained
    """

    def __init__(self, plan: Plan, reference: Reference | None = None) -> None:
        self.plan = plan
        self._reference = reference

    def client(self, *, threads: int = 0) -> Client:
        """A client: makes keys, encrypts, decrypts. Holds no weights."""
        return Client(self.plan.client, threads=threads)

    def server(
        self, keys: PublicKeys, *, memory: str | int = DEFAULT_MEMORY, device: str = "cpu", threads: int = 0
    ) -> Server:
        """A server for one client's public keys.

        raises  SecretKeyError if given a secret key; MissingKeyError if a key of the manifest is not there
        """
        return Server(self.plan, keys, memory=memory, device=device, threads=threads)

    def report(self) -> Report:
        """Layouts, levels, operations, keys, bytes and predicted time: `print` it, or `save` it as HTML."""
        return build_report(self.plan)

    def simulate(
        self, *inputs: npt.ArrayLike | int, noise: np.random.Generator | None = None
    ) -> list[npt.NDArray[np.float64]]:
        """Run the plan on cleartext slot vectors, levels and scales checked, with modelled noise if asked."""
        return simulate(self.plan, list(inputs), noise=noise)

    def plaintext(self, *inputs: npt.ArrayLike | int) -> list[npt.NDArray[np.float64]]:
        """The program on cleartext tensors in NumPy, its functions approximated: what encrypted results approach.

        A loaded model does not have the tensor program; then this is the noiseless simulation of its plan.
        """
        if self._reference is None:
            return self.simulate(*inputs)
        return interpret(self._reference.module, list(inputs))

    def debug(self, *inputs: npt.ArrayLike | int, client: Client | None = None, **named: Any) -> DebugReport:
        """Run the program encrypted beside its plaintext; names the first line whose value is off beyond its bound.

        client  one that holds keys, made anew if not given: debugging decrypts intermediate values, so it is for
                the owner of the data
        """
        client = client or self.client()
        reference = None if self._reference is None else (self._reference.module, self._reference.positions)
        return debug_run(self.plan, client, inputs, named, reference)

    def save(self, path: str | Path) -> None:
        """Write the plan file, which a server needs; the client's part of it can be read too."""
        write_plan(self.plan, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a plan file.

        raises  FormatError if it is damaged or of another kind
        """
        return cls(read_plan(Path(path)))

    def __repr__(self) -> str:
        chain = self.plan.chain
        bits = f"{chain.security_bits}-bit security" if not chain.insecure else "INSECURE"
        return (
            f"Model({self.plan.client.name}: N={chain.ring_degree}, {chain.main.top} levels, "
            f"{len(self.plan.keys)} keys, {bits})"
        )

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

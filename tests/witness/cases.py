"""What the witness pins: compiled programs by name, and how each is run. `programs/` lists them with `@case`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from latticework import Client, Encrypted, Keys, Model, PublicKeys, Server, ckks
from latticework.schemes.bfv import Ciphertext as ExactCiphertext

SMALL = {"ring_degree": 2048, "insecure": True}
Output = Encrypted | ckks.Ciphertext | ExactCiphertext


@dataclass(frozen=True)
class Planned:
    """A planned operation of `latticework.ckks`, on vectors of `slots` from a level (the highest if not given)."""

    operation: Any
    parameters: ckks.Parameters
    slots: int
    level: int | None = None


@dataclass
class Side:
    """A client and a server of one model, with keys."""

    client: Client
    server: Server

    def __call__(self, *values: Any, **named: Any) -> Encrypted:
        return self.server(self.encrypted(*values, **named))

    def encrypted(self, *values: Any, **named: Any) -> Encrypted:
        """Inputs."""
        return self.client.encrypt(*values, **named)

    def joined(self, *parts: Encrypted, **outputs: Encrypted) -> Encrypted:
        """A run on inputs of which some are results of other circuits."""
        return self.server(self.server.inputs(*parts, **outputs))


@dataclass(frozen=True)
class Deploy:
    """How things are run: with so many threads, on a backend of the core."""

    threads: int = 1
    backend: str = "auto"

    def __call__(self, model: Model, keys: Keys | None = None) -> tuple[Side, Keys | None]:
        """Both sides of a model; with the keys of another model's client, or new ones, which are returned."""
        client = model.client(keys=keys, threads=self.threads)
        if keys is None:
            made = client.keygen()
            public = made.public()
        else:
            made, public = keys, client.public_keys()
        return Side(client, self.server(model, public)), made

    def server(self, model: Model, public: PublicKeys) -> Server:
        """A server of a model for a client's keys."""
        return model.server(public, threads=self.threads)

    def on(self, parameters: Any) -> Any:
        """Parameters of an expert module, computed on as this says."""
        return parameters.on(backend=self.backend, threads=self.threads)


@dataclass
class Case:
    """Things that were compiled, and a run of them (None: too large to be run here)."""

    plans: dict[str, Model | Planned]
    run: Callable[[Deploy], Sequence[Output]] | None


@dataclass
class OneModel(Case):
    """A model, run on each of some inputs with the same keys."""

    inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def and_run(self, *values: Any, **named: Any) -> OneModel:
        """The same, with one run more."""
        self.inputs.append((values, named))
        return self


def one(model: Model, *values: Any, **named: Any) -> OneModel:
    """A case of one model, run on these inputs."""

    def run(deploy: Deploy) -> list[Output]:
        side, _ = deploy(model)
        return [side(*values, **named) for values, named in made.inputs]

    made = OneModel({"model": model}, run)
    return made.and_run(*values, **named)


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case]) -> Callable[[], Case]:
    """Enter a function that compiles something into the witness, under its name."""
    assert function.__name__ not in CASES, f"the witness has two cases called {function.__name__}"
    CASES[function.__name__] = function
    return function


def uniform(shape: int | tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Numbers between -1 and 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape)

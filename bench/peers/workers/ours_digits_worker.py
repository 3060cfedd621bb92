"""The digits demo's network compiled by latticework, one image a run. Arguments: the .npz file, and threads."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from network import Network
from protocol import Operation, Session, serve

import latticework as lw
from latticework.runtime.events import Event

PROFILED = 9  # runs
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "digits.py"


class Digits:
    """The demo's program with its weights, and encrypted images."""

    def __init__(self, path: str, threads: int) -> None:
        self.network = Network(path)
        spec = importlib.util.spec_from_file_location("digits_example", EXAMPLE)
        assert spec is not None and spec.loader is not None
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        weights, x_train, *_ = example.train()
        self.model = lw.compile(example.score, weights=weights, calibrate=x_train)
        self.client = self.model.client(threads=threads)
        self.server = self.model.server(self.client.keygen().public(), threads=threads)
        self.images = [self.client.encrypt(image[None]) for image in self.network.images]

    def facts(self) -> dict[str, Any]:
        chain = self.model.plan.chain
        return {
            "library": "latticework " + lw.__version__,
            "backend": self.server.context.backend,
            "log2_degree": chain.ring_degree.bit_length() - 1,
            "levels": chain.main.top,
            "degree": self.model.plan.approximations[0].degree,
            "digits": len(chain.digits),
            "special_limbs": len(chain.special),
            "log2_qp": round(chain.log2_qp, 1),
            "security_bits": 0 if chain.insecure else chain.security_bits,
        }

    def milliseconds(self) -> dict[str, float]:
        """Where the time of one image goes: by operation, the median of some runs, largest first."""
        runs = []
        for _ in range(PROFILED):
            spent: dict[str, float] = defaultdict(float)

            def add(event: Event, spent: dict[str, float] = spent) -> None:
                spent[event.op] += 1e3 * (event.end - event.start)

            self.server(self.images[0], on_event=add)
            runs.append(spent)
        found = {name: median(spent[name] for spent in runs) for name in runs[0]}
        return {name: round(found[name], 3) for name in sorted(found, key=lambda name: -found[name])}

    def different(self, _: object) -> float:
        """Images with another class than NumPy's."""
        found = [self.client.decrypt(self.server(image)).reveal()[0] for image in self.images]
        return float(self.network.different_classes(np.array(found)))


def make(arguments: list[str]) -> Session:
    """The session of a network."""
    made = Digits(arguments[0], int(arguments[1]))
    image = Operation(lambda: made.server(made.images[0]), made.different)
    return Session(made.facts(), {"image": lambda: image, "milliseconds": lambda: Operation(made.milliseconds)})


if __name__ == "__main__":
    serve(make)

"""Runs that another machine repeats: plans, public keys and encrypted inputs as files, and their outputs by hash.

Compiling may differ in the last bits of calibrated numbers between kinds of processors. Running a plan may not: what
`Store` writes on one machine, `differences` repeats on another, which needs neither a compiler nor entropy for that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import Deploy
from summaries import digest

from latticework import Encrypted, Model, PublicKeys, Server

RECORD = "runs.json"


@dataclass(frozen=True)
class Store(Deploy):
    """Sides that keep what their servers are given in a folder, which is of one case and empty."""

    folder: Path = Path()

    def server(self, model: Model, public: PublicKeys) -> Any:
        """A server of a model; its plan and keys are in the folder."""
        number = len(list(self.folder.glob("*.lwplan")))
        plan, keys = f"{number}.lwplan", f"keys{number}"
        model.save(self.folder / plan)
        public.save(self.folder / keys)
        return _StoringServer(super().server(model, public), self.folder, {"plan": plan, "keys": keys})


@dataclass(frozen=True)
class _StoringServer:
    """A server that keeps its inputs, and a line on each run."""

    served: Server
    folder: Path
    files: dict[str, str]

    def __call__(self, *parts: Encrypted) -> Encrypted:
        output = self.served(*parts)
        runs = read_runs(self.folder)
        names = [f"run{len(runs)}-{number}.lwct" for number in range(len(parts))]
        for name, part in zip(names, parts, strict=True):
            (self.folder / name).write_bytes(part.to_bytes())
        runs.append(self.files | {"inputs": names, "output": digest(output.to_bytes())})
        (self.folder / RECORD).write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
        return output

    def inputs(self, *parts: Encrypted, **outputs: Encrypted) -> Encrypted:
        """As `Server.inputs`."""
        return self.served.inputs(*parts, **outputs)


def read_runs(folder: Path) -> list[dict[str, Any]]:
    """The runs of one case, in their order; none where its operations were run without a server."""
    file = folder / RECORD
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []


def differences(folder: Path, threads: int) -> Iterator[str]:
    """Repeat the runs of one case; a line for each that has another output."""
    servers: dict[str, Server] = {}
    for number, run in enumerate(read_runs(folder)):
        plan = run["plan"]
        if plan not in servers:
            servers[plan] = Server.load(folder / plan, folder / run["keys"], threads=threads)
        server = servers[plan]
        output = server(*(server.load_encrypted(folder / name) for name in run["inputs"]))
        if digest(output.to_bytes()) != run["output"]:
            yield f"{folder.name}: run {number}, of {plan}, has another output than where it was stored"

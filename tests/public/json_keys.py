"""Keys of what commands say with --json, and of reports as JSON: those of a session with small programs, and of the
reports of some more, which together have every part of a report.
"""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Collection, Iterator
from contextlib import chdir
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
from lists import Entries
from typer.testing import CliRunner

import latticework as lw
from latticework import cli, owner

RNG = np.random.default_rng(0)
DATA, WEIGHTS = RNG.uniform(-1, 1, (16, 4)), RNG.uniform(-1, 1, (4, 3))
HEIR = Path(__file__).parents[1] / "data" / "heir" / "dot.mlir.gz"
SMALL = {"ring_degree": 2048, "insecure": True, "progress": False}
# Objects whose keys are data: kinds of work, names of results, inputs, kernels, devices and packages, and paths.
UNNAMED = ("by_kind", "outputs", "columns", "kernels", "wrong", "devices", "packages", "caches")
SOURCE = """
import latticework as lw

@lw.program
def f(x: lw.Secret[4], w):
    return lw.relu(x, degree=3) @ w
"""
MORE = "--weights w.npz --calibrate data.npy --ring-degree 2048 --insecure --precision-bits 4"
COMMANDS = (
    f"compile f.py {MORE} -o m.lwplan --report r.json",
    "keygen m.lwclient --insecure",
    "encrypt m.lwclient x.npy -o in.lwct --insecure",
    "run m.lwplan in.lwct -k keys/evaluation.lwkeys -o out.lwct",
    "run m.lwplan in.lwct -k keys/evaluation.lwkeys --key-memory 2MB -o out2.lwct",
    "run m.lwplan in.lwct -k keys/evaluation.lwkeys --each results",
    "decrypt m.lwclient out.lwct --insecure",
    "explain m.lwclient",
    "explain m.lwplan",
    "explain m.lwplan --report new.html",
    "explain m.lwplan --memory 100MB",
    "encrypt m.lwclient wide.npy -o clipped.lwct --insecure --clip",
    "encrypt m.lwclient wide.npy -o kept.lwct --insecure --keep",
    "explain clipped.lwct",
    "run m.lwplan in.lwct -k keys/evaluation.lwkeys -o out3.lwct --profile p.csv",
    "keygen decided.lwclient --insecure -o own",
    "encrypt decided.lwclient x.npy -k own -o own.lwct --insecure",
    "run decided.lwplan own.lwct -k own/evaluation.lwkeys -o done.lwct",
    "decrypt decided.lwclient done.lwct -k own --insecure",
    "explain decided.lwclient",
    "measure -o table.json",
    "keys dot.mlir",
    "explain keys/evaluation.lwkeys",
    "explain keys/public.lwkey",
    "explain out.lwct",
    "inspect g.py",
    f"accuracy f.py --data data.npy --labels labels.npy {MORE} --encrypted 1 --simulated 4",
    f"quote f.py {MORE}",
    "keygen m.lwclient --insecure --add",
    "addkeys m.lwplan keys/evaluation.lwkeys",
    "prepare m.lwplan",
    "export m.lwplan exported",
    "new circuit project",
    "doctor --folder keys",
    "doctor --folder .",
    "version",
    "completion bash",
    "explain nothing.lwct",
)


@lru_cache(maxsize=1)
def collect() -> Entries:
    """`run --json key_traffic.loads  key`; `report timeline[].seconds  key`."""
    found: dict[str, set[str]] = {}
    for name, content in (*_session(), *_reports()):
        found.setdefault(name, set()).update(key_paths(content, UNNAMED))
    return {f"{name} {path}": "key" for name, paths in found.items() for path in paths}


def key_paths(value: Any, unnamed: Collection[str] = (), path: str = "") -> Iterator[str]:
    """`a.b[].c` for every key at any depth; `a{}.c` where a's own keys are data."""
    if isinstance(value, list):
        for item in value:
            yield from key_paths(item, unnamed, f"{path}[]")
    elif isinstance(value, dict):
        is_data = path.rpartition(".")[2] in unnamed
        for key, item in value.items():
            inner = f"{path}{{}}" if is_data else f"{path}.{key}".removeprefix(".")
            if not is_data:
                yield inner
            yield from key_paths(item, unnamed, inner)


def _session() -> Iterator[tuple[str, Any]]:
    """What each command says; what is left is no file."""
    run = CliRunner()
    measured = mock.patch.object(import_module("latticework.commands.measure"), "measure_machine", lambda *_, **__: {})
    with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings(), measured:
        warnings.simplefilter("ignore")
        Path("f.py").write_text(SOURCE)
        Path("g.py").write_text(SOURCE.replace(", w)", ")").replace("@ w", "* 2"))
        np.savez("w.npz", w=WEIGHTS)
        np.save("data.npy", DATA)
        np.save("labels.npy", np.arange(len(DATA)) % 3)
        np.save("x.npy", DATA[0])
        np.save("wide.npy", np.stack([DATA[0], 9 * DATA[1]]))
        Path("results").mkdir()
        Path("dot.mlir").write_bytes(gzip.decompress(HEIR.read_bytes()))
        Path("cut.lwct").write_bytes(b"LATTICE")
        _decided_model().save("decided.lwplan")
        _decided_model().client().save("decided.lwclient")
        for command in COMMANDS:
            told = json.loads(run.invoke(cli.app, [*command.split(), "--json", "-v"]).stdout)
            name = "a fault --json" if "error" in told else f"{told['command']} --json"
            if ("error" in told) != ("nothing" in command):
                raise AssertionError(f"latticework {command}: {told}")
            for part in ("report", "accuracy", "memory"):  # told apart: the same as in the files of reports
                if isinstance(told.get(part), dict):
                    yield _NAMES[part], told[part] if part != "memory" else {"under_budget": told[part]}
                    told[part] = None
            yield name, told


_NAMES = {"report": "report", "accuracy": "accuracy report", "memory": "report"}


@lw.program
def _decided(x: lw.Secret[4], w):
    return lw.sigmoid(x @ w, degree=3)


@lru_cache(maxsize=1)
def _decided_model() -> lw.Model:
    """With names of columns, decisions, scores, and so few rows that its bounds have conditions."""
    steps = (owner.Extreme(owner.Labels(("a", "b", "c"))),)
    stages = owner.OwnerStages(after=(owner.Finished("class", "result", steps),))
    rows = DATA.view([(name, float) for name in "abcd"])[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lw.compile(
            _decided, weights=(WEIGHTS,), calibrate=rows, labels=np.arange(len(DATA)) % 3, owner=stages, batch=2,
            scale_columns=True, precision_bits=4, **SMALL,
        )  # fmt: skip


@lw.program
def _looped(x: lw.Secret[4]):
    return lw.for_loop(8, lambda _, y: y * y - 0.3, x)


@lw.circuit
def _scalars(a: lw.scalar(low=-1, high=1), v: lw.vector(2, low=-1, high=1)):
    return a * v[0] + v[1] * v[1]


def _reports() -> Iterator[tuple[str, Any]]:
    """Of programs that together have all: batches, what owners compute, scores, loops that bootstrap, a circuit."""
    yield "report", json.loads(_decided_model().report().json())
    yield "report", json.loads(lw.compile(_scalars, precision_bits=4, **SMALL).report().json())
    looped = lw.compile(_looped, bootstrap_set="T11", calibrate=DATA, precision_bits=8, insecure=True, progress=False)
    yield "report", json.loads(looped.report(memory="20MB").json())

"""`latticework bench start`: processor time of each command up to its first work, and of imports."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bench.rows import Row, report, show

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """\
import latticework as lw


@lw.program
def score(x: lw.Secret[1, 64], w1, w2):
    return lw.tanh(x @ w1) @ w2
"""
# Words of the command, what it calls when all is loaded and read (nothing: all that it does), seconds.
COMMANDS = {
    "version": ("version", "", 0.1),
    "keygen": ("keygen m.lwclient -o new", "runtime.client.client Client keygen", 0.25),
    "encrypt": ("encrypt m.lwclient x.npy -o new.lwct", "runtime.client.client Client encrypt", 0.25),
    # Reading evaluation keys is work: they are verified and expanded.
    "run": ("run m.lwplan in.lwct -k evaluation.lwkeys -o y.lwct", "values.extension _core load_evaluation_keys", 0.25),
    "decrypt": ("decrypt m.lwclient out.lwct", "runtime.client.client Client decrypt", 0.25),
    "explain": ("explain in.lwct", "", None),
    "run --help": ("run --help", "", None),
    "compile": (
        "compile model.py --weights w.npz --calibrate data.npy -o new.lwplan", "compiler.compile compile", 0.5
    ),
}  # fmt: skip
IMPORTS = {
    "import numpy": ("import numpy", None),
    "import latticework": ("import latticework", None),
    "latticework.Client": ("import latticework; latticework.Client", 0.2),
    "latticework.Server": ("import latticework; latticework.Server", 0.2),
    "latticework.compile": ("import latticework; latticework.compile", None),
}
# In the process of a command: what it calls first ends it. The name is put in place when its module has been loaded.
CHILD = """
import importlib.util, os, sys, time
words, (module, *names) = sys.argv[1].split(), sys.argv[2].split() or [""]

def stop(*words, **others):
    os.write(2, f"\\nspent {time.process_time()}\\n".encode())
    os._exit(0)

class Watch:
    def find_spec(self, name, path, target=None):
        if name != f"latticework.{module}":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_and_replace(loaded):
            load(loaded)
            for part in names[:-1]:
                loaded = getattr(loaded, part)
            setattr(loaded, names[-1], stop)

        spec.loader.exec_module = load_and_replace
        return spec

if module:
    sys.meta_path.insert(0, Watch())
from latticework.cli import main
sys.argv[1:] = words
try:
    main()
except SystemExit as end:
    if end.code or module:
        raise
stop()
"""


@app.command()
def start(
    runs: Annotated[int, typer.Option(min=1, help="Of each command and import, in turns, after a first one.")] = 15,
    beside: Annotated[
        Path | None, typer.Option(help="Another source tree of latticework, with its core built, for comparison.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure start-up, each time in a new process."""
    trees = [ROOT, *([] if beside is None else [beside.resolve()])]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_files(folder)
        cases = [
            *((name, ["-c", CHILD, words, work], target) for name, (words, work, target) in COMMANDS.items()),
            *((name, ["-c", f"import os, time\n{code}\n{SAY}"], target) for name, (code, target) in IMPORTS.items()),
        ]
        seconds: dict[tuple[str, Path], list[float]] = {}
        for turn in range(runs + 1):
            for name, words, _ in cases:
                for tree in trees:
                    spent = spend(folder, tree, words)
                    if turn:  # the first writes the bytecode
                        seconds.setdefault((name, tree), []).append(spent)
    rows = []
    for name, _, target in cases:
        ours, *others = (statistics.median(seconds[name, tree]) for tree in trees)
        spread = {"least": min(seconds[name, ROOT]), "most": max(seconds[name, ROOT])}
        metric = "all of it" if name in IMPORTS or not COMMANDS[name][1] else "to first work"
        rows.append(
            Row(name, metric, "s", ours, *others, target=target, checked=True, details=spread,
                source="the other tree" if others else None)
        )  # fmt: skip
    conditions = {
        "time": "user and system processor time of a new process from its start, median of the runs, taken in turns",
        "runs": runs,
        "program": "tanh between two matrices, 64 x 32 x 10, N = 16384",
    }
    show(report("start", rows, conditions), json)


SAY = 'os.write(2, f"\\nspent {time.process_time()}\\n".encode())'


def make_files(folder: Path) -> None:
    """The files of all commands: a session of client and server in a folder."""
    rng = np.random.default_rng(0)
    data = rng.uniform(0, 1, size=(500, 64))
    (folder / "model.py").write_text(PROGRAM)
    np.savez(folder / "w.npz", w1=rng.normal(size=(64, 32)) / 8, w2=rng.normal(size=(32, 10)) / 5)
    np.save(folder / "data.npy", data)
    np.save(folder / "x.npy", data[:1])
    for words in (
        "compile model.py --weights w.npz --calibrate data.npy -o m.lwplan",
        "keygen m.lwclient",
        "encrypt m.lwclient x.npy -o in.lwct",
        "run m.lwplan in.lwct -k keys/evaluation.lwkeys -o out.lwct",
    ):
        run_python(folder, ROOT, ["-m", "latticework", *words.split()])
    (folder / "keys" / "evaluation.lwkeys").rename(folder / "evaluation.lwkeys")


def spend(folder: Path, tree: Path, words: list[str]) -> float:
    """Processor seconds that a process says it spent."""
    told = run_python(folder, tree, words)
    return float(told.rpartition("\nspent ")[2])


def run_python(folder: Path, tree: Path, words: list[str]) -> str:
    """What Python prints on standard error, with the package of a source tree; ChildProcessError if it fails."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPATH"] = str(tree / "src")
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ChildProcessError(f"{' '.join(words[-2:])}: {done.stderr}")
    return done.stderr

"""Compile and run cases in this process, which `pinned.py` starts: JSON of what came out, on standard output.

python tests/witness/child.py [--slow] [--threads N] [--backend NAME] [--dump DIR] [--store DIR] [--share K/N] [CASE ...]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
import types
import warnings
import zlib
from pathlib import Path
from typing import Any

from cases import CASES, Deploy
from stored import Store
from summaries import digest, figures, listing, pinned

from latticework.runtime.devices import device

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def load(*, slow: bool) -> None:
    """Enter the cases of `programs/`; files called slow_... are the slow ones.

    Their code carries a path that does not depend on where the tree lies, as plans name the lines of programs.
    """
    for path in sorted((HERE / "programs").glob("*.py")):
        if path.name.startswith("slow_") == slow:
            module = types.ModuleType(path.stem)
            sys.modules[path.stem] = module
            exec(compile(path.read_text(encoding="utf-8"), path.relative_to(ROOT), "exec"), module.__dict__)


def witness(name: str, deploy: Deploy, dump: Path | None) -> dict[str, Any]:
    """One case: its plans, and its outputs under keys and encryptions that follow from its name."""
    start = time.process_time()
    made = CASES[name]()
    things = {part: pinned(thing) for part, thing in made.plans.items()}
    compiled = time.process_time()
    fixed_entropy(zlib.crc32(name.encode()))
    outputs = [] if made.run is None else [output.to_bytes() for output in made.run(deploy)]
    if dump is not None:
        for part, thing in things.items():
            for kind, data in thing.files.items():
                (dump / f"{name}.{part}.{kind}").write_bytes(data)
            (dump / f"{name}.{part}.txt").write_text("\n".join(listing(thing)), encoding="utf-8")
        for number, data in enumerate(outputs):
            (dump / f"{name}.output{number}").write_bytes(data)
    return {
        "plans": {part: figures(thing) for part, thing in things.items()},
        "outputs": [digest(data) for data in outputs],
        "seconds": [round(compiled - start, 2), round(time.process_time() - compiled, 2)],
    }


def fixed_entropy(seed: int) -> None:
    """From here on getrandom(2) gives what follows from a number."""
    ctypes.CDLL(None).fixed_entropy_start(ctypes.c_uint64(seed))


def main() -> None:
    """See the top of this file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--share", default="0/1", help="K/N: every N-th case, from number K")
    parser.add_argument("cases", nargs="*")
    asked = parser.parse_args()
    load(slow=asked.slow)
    device.HOST = asked.backend
    deploy = Deploy(asked.threads, asked.backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, step = map(int, asked.share.split("/"))
        names = (asked.cases or list(CASES))[first::step]
        json.dump({name: witness(name, stored(deploy, asked.store, name), asked.dump) for name in names}, sys.stdout)


def stored(deploy: Deploy, folder: Path | None, name: str) -> Deploy:
    """Sides that keep what a case runs in a folder of its own, if there is one."""
    if folder is None:
        return deploy
    (folder / name).mkdir()
    return Store(deploy.threads, deploy.backend, folder / name)


if __name__ == "__main__":
    main()

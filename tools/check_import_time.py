"""Check that imports are quick, and take along neither optional packages nor parts of latticework that are not needed.

    python tools/check_import_time.py [--module NAME] [--limit-ms MS]

The time is the processor time in the median of RUNS fresh processes, without the interpreter's start, the compilation
of Python files to bytecode (one more run comes first) and the look for changed C++ sources that an editable
installation adds. Exit status 1 if it is over the limit, or if something came along that MAY_LOAD or OPTIONAL does not
allow.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

RUNS = 5
LIMIT_MS = 500.0
LIMITS_MS = {"latticework.compiler.compile": LIMIT_MS, "latticework.commands.run": 300.0}  # what is timed
OPTIONAL = ("IPython", "jinja2", "torch", "onnx", "ray", "sklearn", "matplotlib", "ortools")
LEAVES = "errors sums user words"  # EVERYWHERE of check_layers.py
# servers plan their memory
RUNTIME = f"devices _core analysis cost instructions ledger owner packing params plan runtime {LEAVES}"
# Exactly these of the compiler are loaded with every command: the records that options of commands are made of.
OPTIONS = ("compiler", "compiler.options", "compiler.options.option", "compiler.options.option_records", "techniques")
OPTION_RECORDS = {f"latticework.{name}" for name in OPTIONS}
# Module -> the folders and modules of latticework that are loaded with it at most; others may load all of it.
MAY_LOAD = {
    "latticework": LEAVES,
    "latticework.bfv": f"_core bfv devices instructions ir keys ledger owner packing params plan rlwe {LEAVES}",
    "latticework.ckks": "_core analysis approx ckks codegen devices dialects expand instructions ir keys owner packing "
    f"params passes plan rlwe techniques {LEAVES}",
    "latticework.runtime": RUNTIME,
    "latticework.model": f"{RUNTIME} debug ir model report",
    "latticework.cli": f"cli commands {LEAVES}",
    "latticework.commands.keygen": f"{RUNTIME} commands progress",
    "latticework.commands.encrypt": f"{RUNTIME} commands",
    "latticework.commands.run": f"{RUNTIME} commands progress",
    "latticework.commands.decrypt": f"{RUNTIME} commands",
    "latticework.commands.explain": "_core analysis commands cost instructions ledger owner packing params plan "
    f"report {LEAVES}",
    "latticework.commands.keys": "_core approx commands dialects frontend functions instructions interop ir layout "
    f"ledger ops owner packing params plan {LEAVES}",
    "latticework.commands.measure": "_core analysis codegen commands cost dialects expand instructions ir keys ledger "
    f"machine owner packing params passes plan techniques {LEAVES}",
    "latticework.commands.bench": f"_core commands {LEAVES}",
}
PROGRAM = """
import importlib, json, sys, time
for finder in sys.meta_path:  # an editable installation compiles what has changed when the extension is looked for
    finder.find_spec(sys.argv[1].partition(".")[0] + "._core", None)
start = time.process_time()
importlib.import_module(sys.argv[1])
print(json.dumps([1000 * (time.process_time() - start), sorted(sys.modules)]))
"""


def import_once(module: str) -> tuple[float, set[str]]:
    """Milliseconds of one import in a fresh process, and the names of the modules then loaded."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM, module]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=settings)
    if run.returncode != 0:
        sys.exit(f"import {module} failed, see above")
    milliseconds, modules = json.loads(run.stdout)
    return milliseconds, set(modules)


def too_much(module: str, loaded: set[str]) -> list[str]:
    """What should not have come along."""
    found = [name for name in OPTIONAL if name in loaded]
    if module in MAY_LOAD:
        package = module.partition(".")[0]
        if module.startswith(("latticework.cli", "latticework.commands")):
            loaded = loaded - OPTION_RECORDS
        parts = {".".join(name.split(".")[:2]) for name in loaded if name.startswith(f"{package}.")}
        found += sorted(parts - {f"{package}.{part}" for part in MAY_LOAD[module].split()})
    return found


def is_quick(module: str, limit_ms: float) -> bool:
    """Measure one import; whether it is within its limit."""
    import_once(module)
    median = statistics.median(import_once(module)[0] for _ in range(RUNS))
    print(f"import {module}: {median:.0f} ms, limit {limit_ms:.0f}")
    return median <= limit_ms


def is_lean(module: str) -> bool:
    """Look at what one import loads; whether that is allowed."""
    extra = too_much(module, import_once(module)[1])
    if extra:
        print(f"import {module} loads {', '.join(extra)}; import them where they are used")
    return not extra


def main() -> int:
    """Measure and judge; 1 if an import fails the check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--module", help="this one alone")
    parser.add_argument("--limit-ms", type=float, default=LIMIT_MS, help="of that one")
    arguments = parser.parse_args()
    limits_ms = {arguments.module: arguments.limit_ms} if arguments.module else LIMITS_MS
    lean = [is_lean(module) for module in {**limits_ms, **({} if arguments.module else MAY_LOAD)}]
    return 0 if all([*lean, *(is_quick(module, limit_ms) for module, limit_ms in limits_ms.items())]) else 1


if __name__ == "__main__":
    sys.exit(main())

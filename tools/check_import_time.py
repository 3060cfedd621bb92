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
LIMITS_MS = {"latticework.compiler.compile": LIMIT_MS, "latticework.commands.run": 250.0}  # what is timed
OPTIONAL = (
    "IPython", "jinja2", "torch", "onnx", "ray", "sklearn", "matplotlib", "ortools", "pydantic", "rich", "typer",
)  # fmt: skip
PLAN = "_core errors values plan"
RUNTIME = f"{PLAN} runtime"  # servers plan their memory
MEASURING = (
    f"{PLAN} commands ir runtime.ledger runtime.devices compiler.codegen compiler.expand compiler.keys compiler.passes "
    "compiler.options.techniques"
)
FOR_ALL = ("lazy_dataclass", "moved_modules")  # what `import latticework` itself needs, and what makes all records
# Of the compiler, every command loads exactly these: the records that options of commands are made of.
OPTIONS = ("compiler.options.option", "compiler.options.option_records", "compiler.options.techniques")
# Module -> the folders and modules of latticework that are loaded with it at most; others may load all of it. A name
# covers all that is below it.
MAY_LOAD = {
    "latticework": "errors",
    "latticework.errors": "",
    "latticework.values.inputs.reading_budget": "errors values.inputs",
    "latticework.schemes.bfv": f"{PLAN} ir runtime.devices runtime.ledger schemes.bfv schemes.rlwe compiler.keys",
    "latticework.schemes.ckks": f"{PLAN} ir functions runtime.devices runtime.ledger schemes.ckks schemes.rlwe "
    "compiler.codegen compiler.expand compiler.keys compiler.passes compiler.options.techniques",
    "latticework.runtime.server.server": RUNTIME,
    "latticework.runtime.client.client": RUNTIME,
    "latticework.model": f"{RUNTIME} debug ir model report",
    "latticework.cli": "errors cli commands",
    "latticework.commands.version": "errors commands",
    "latticework.commands.keygen": f"{RUNTIME} commands progress",
    "latticework.commands.addkeys": f"{RUNTIME} commands",
    "latticework.commands.prepare": f"{RUNTIME} commands",
    "latticework.commands.encrypt": f"{RUNTIME} commands",
    "latticework.commands.run": f"{RUNTIME} commands progress",
    "latticework.commands.decrypt": f"{RUNTIME} commands",
    "latticework.commands.explain": f"{PLAN} commands report runtime.ledger",
    "latticework.commands.new": "errors commands",
    "latticework.commands.export": f"{PLAN} commands runtime.ledger",
    "latticework.commands.keys": f"{PLAN} commands frontend functions ir tensor runtime.ledger",
    "latticework.commands.doctor": f"{MEASURING} ckks functions report schemes.ckks schemes.rlwe",
    "latticework.commands.measure": MEASURING,
    "latticework.commands.bench": "_core errors commands values",
}
# Module -> how many of latticework come along at most: a table that grows is cheap, a new module is 0.2 ms.
MOST = {
    "latticework.commands.version": 20,
    "latticework.commands.keygen": 160,
    "latticework.commands.encrypt": 165,
    "latticework.commands.run": 200,
    "latticework.commands.decrypt": 165,
}
WITHOUT_NUMPY = ("latticework", "latticework.cli", "latticework.commands.version")
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


def is_along(part: str, name: str) -> bool:
    """Whether a module is a name, lies below it, or is a package on the way to it."""
    return f"{part}.".startswith(f"{name}.") or f"{name}.".startswith(f"{part}.")


def too_much(module: str, loaded: set[str]) -> list[str]:
    """What should not have come along."""
    found = [name for name in OPTIONAL if name in loaded]
    found += ["numpy"] if module in WITHOUT_NUMPY and "numpy" in loaded else []
    ours = sum(name.startswith("latticework") for name in loaded)
    found += [f"{ours} modules of latticework, for {MOST[module]}"] if ours > MOST.get(module, ours) else []
    if module in MAY_LOAD:
        package = module.partition(".")[0]
        parts = {name.removeprefix(f"{package}.") for name in loaded if name.startswith(f"{package}.")}
        allowed = [*MAY_LOAD[module].split(), module.removeprefix(f"{package}.")]
        allowed += FOR_ALL
        allowed += OPTIONS if module.startswith((f"{package}.cli", f"{package}.commands")) else ()
        found += sorted(part for part in parts if not any(is_along(part, name) for name in allowed))
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

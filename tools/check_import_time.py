"""Check that `import latticework` is quick and takes no optional package along.

    python tools/check_import_time.py [--module NAME] [--limit-ms MS]

The time is the median of RUNS fresh processes, without the interpreter's start, the compilation of Python files to
bytecode (one more run comes first) and the look for changed C++ sources that an editable installation adds.
Exit status 1 if it is over the limit, or an optional package came along.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

RUNS = 5
LIMIT_MS = 500.0
OPTIONAL = ("torch", "onnx", "ray", "sklearn", "matplotlib", "ortools")
PROGRAM = """
import importlib, json, sys, time
for finder in sys.meta_path:  # an editable installation compiles what has changed when the extension is looked for
    finder.find_spec(sys.argv[1] + "._core", None)
start = time.perf_counter()
importlib.import_module(sys.argv[1])
print(json.dumps([1000 * (time.perf_counter() - start), sorted(sys.modules)]))
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


def main() -> int:
    """Measure and judge; 1 if the import fails the check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--module", default="latticework")
    parser.add_argument("--limit-ms", type=float, default=LIMIT_MS)
    arguments = parser.parse_args()
    import_once(arguments.module)
    results = [import_once(arguments.module) for _ in range(RUNS)]
    median = statistics.median(milliseconds for milliseconds, _ in results)
    extra = [name for name in OPTIONAL if name in results[0][1]]
    print(f"import {arguments.module}: {median:.0f} ms, limit {arguments.limit_ms:.0f}")
    if extra:
        print(f"import {arguments.module} loads {', '.join(extra)}; import them where they are used")
    return 1 if median > arguments.limit_ms or extra else 0


if __name__ == "__main__":
    sys.exit(main())

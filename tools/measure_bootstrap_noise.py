"""Write what bootstraps of every set leave, by simulation of the circuit, into the table that the package ships.

    python tools/measure_bootstrap_noise.py [NAME ...]

With names only these sets are measured; the rest stays. Every row names the parameters that it holds for, so a set
whose chain has changed is measured again by whoever uses it, until this has been run; a test says so.
About a minute for all; H17 takes 1 GB.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from latticework.compiler.codegen.bootstrap_plans import measure_noise
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain
from latticework.plan.parameters.fingerprint import fingerprint

TABLE = Path(__file__).resolve().parent.parent / "src" / "latticework" / "plan" / "parameters" / "bootstrap_noise.json"
DIGITS = 4


def row_of(name: str) -> dict[str, object]:
    """The row of a set."""
    chain = bootstrap_chain(name)
    noise = {key: float(f"{value:.{DIGITS}g}") for key, value in asdict(measure_noise(chain)).items()}
    return {"parameters": fingerprint(chain).hex(), **noise}


def main(names: list[str]) -> None:
    """Measure, and write."""
    known = json.loads(TABLE.read_text(encoding="utf-8"))["sets"] if TABLE.exists() else {}
    rows = {name: row_of(name) if name in names or not names else known[name] for name in BOOTSTRAP_SETS}
    content = {"command": "python tools/measure_bootstrap_noise.py", "sets": rows}
    TABLE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

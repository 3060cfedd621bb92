"""Write what the operations of bootstraps add up to by the shipped cost table, for every set, into the package.

    python tools/add_up_bootstraps.py

To be run when a set, the code of bootstraps or the cost table changes; a test says so, and until then programs compile
as they would, only later. Two minutes.
"""

import json
from pathlib import Path

from latticework.compiler.codegen import added_up_bootstraps
from latticework.compiler.codegen.added_up_bootstraps import find_seconds, name_chain, priced_targets
from latticework.plan.cost import CostModel
from latticework.plan.cost.table import default_table
from latticework.plan.parameters import BOOTSTRAP_SETS, ModulusChain, bootstrap_chain

PATH = Path(added_up_bootstraps.__file__).with_name(added_up_bootstraps.TABLE)


def shipped_models() -> tuple[CostModel, ...]:
    """The prices of the shipped cost table, on one thread and on several."""
    table = default_table()
    return tuple(CostModel(each) for each in (table, table.parallel) if each is not None)


def widths_of(chain: ModulusChain) -> list[int]:
    """Numbers of slots that a vector may have."""
    return [1 << k for k in range(chain.slots.bit_length())]


def main() -> None:
    """Add up, and write: a line for every set."""
    models = shipped_models()
    lines: list[list[str]] = [[] for _ in models]
    for name in BOOTSTRAP_SETS:
        chain = bootstrap_chain(name)
        found: list[dict[int, list[list[float]]]] = [{} for _ in models]
        for slots in widths_of(chain):
            kinds = [[find_seconds(models, chain, slots, t, r) for t in priced_targets(chain)] for r in (False, True)]
            for place, rows in enumerate(found):
                rows[slots] = [[seconds[place] for seconds in targets] for targets in kinds]
        for place, rows in enumerate(found):
            lines[place].append(f'  "{name_chain(chain)}": {json.dumps(rows, separators=(",", ":"))}')
        print(name, flush=True)
    tables = [f' "{m.table_hash}": {{\n' + ",\n".join(rows) + "\n }" for m, rows in zip(models, lines, strict=True)]
    text = '{"command": "python tools/add_up_bootstraps.py", "tables": {\n' + ",\n".join(tables) + "\n}}\n"
    PATH.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

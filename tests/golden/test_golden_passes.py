"""Golden texts of passes: NAME.txt holds cases of input and output of the pass of that name in latticework.passes.

A case is `// what it shows`, the input, a line `// =>`, the output.
"""

import importlib
from pathlib import Path

import pytest

from latticework.dialects import loop, scalar, vec  # noqa: F401  (defines the ops the texts use)
from latticework.ir import parse_module, print_module, verify

HERE = Path(__file__).parent


def cases():
    for path in sorted(HERE.glob("*.txt")):
        for case in path.read_text().split("\n\n"):
            title, _, body = case.strip().partition("\n")
            before, _, after = body.partition("\n// =>\n")
            yield pytest.param(path.stem, before, after, id=f"{path.stem}: {title.removeprefix('// ')}")


@pytest.mark.parametrize(("name", "before", "after"), list(cases()))
def test_output_is_as_written(name, before, after):
    step = importlib.import_module(f"latticework.passes.{name.replace('-', '_')}").PASS
    assert step.name == name
    module = parse_module(before)
    verify(module)
    result = step.run(module, None)
    verify(result)
    assert print_module(result).strip() == after.strip()

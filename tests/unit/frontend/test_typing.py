"""The documented form of annotations is legal to type checkers, and says at run time what the short form says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import latticework as lw
from latticework.errors import ShapeError, TraceError
from latticework.frontend.recording.annotations import Secret

DOCS = Path(__file__).parents[3] / "docs"
TYPED = re.compile(r"lw\.Secret\[lw\.Array|Annotated\[lw\.")


def typed_blocks():
    """Blocks of the documentation that are written for type checkers, by file and number."""
    for page in sorted(DOCS.rglob("*.md")):
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)):
            if TYPED.search(block):
                yield f"{page.stem}_{number}", block


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("typed")
    for name, block in typed_blocks():
        (place / f"{name.replace('-', '_')}.py").write_text(block)
    (place / "wrong.py").write_text(
        "import latticework as lw\n\n\n@lw.program\n"
        "def wrong(x: lw.Secret[lw.Array, 2], n: lw.Index) -> lw.Array:\n    return n.missing + x.missing\n"
    )
    assert len(list(place.iterdir())) >= 3
    return place


@pytest.mark.slow
def test_documented_programs_pass_mypy(folder):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", str(folder)],
        capture_output=True, text=True, timeout=300, cwd=folder,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert all("wrong.py:6" in line for line in errors), done.stdout
    assert len(errors) >= 2 and 'error: "int" has no attribute "missing"' in done.stdout
    assert 'error: "ndarray[' in done.stdout  # both annotations are known for what they are


@pytest.mark.slow
def test_documented_programs_pass_pyright(folder):
    pytest.importorskip("basedpyright", reason="pyright, with Node.js, is large: pip install basedpyright")
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "standard", "pythonVersion": "3.11"}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert found and all(d["file"].endswith("wrong.py") and d["rule"] == "reportAttributeAccessIssue" for d in found)


def test_both_forms_of_a_secret_say_the_same():
    for long, short in (
        (lw.Secret[lw.Array, 1, 64], lw.Secret[1, 64]),
        (lw.Secret[lw.Array, 64], lw.Secret[64]),
        (lw.Secret[lw.Array, ()], lw.Secret[()]),
        (lw.Secret[lw.Array], Secret()),
        (lw.Secret[np.ndarray, 3, 4], lw.Secret[3, 4]),
    ):
        assert long == short
    for wrong in ((lw.Array, 0), (lw.Array, "64"), (lw.Array, 1, None)):
        with pytest.raises(ShapeError, match="a shape is made of integers >= 1"):
            lw.Secret[wrong]


def test_annotated_inputs_are_inputs():
    @lw.program
    def double(x: Annotated[lw.Array, lw.Secret[2]], n: Annotated[int, lw.Index], w: Annotated[lw.Array, "public"]):
        return x * w

    @lw.circuit
    def total(a: Annotated[lw.Number, lw.scalar(low=0, high=9)], b: "Annotated[lw.Array, lw.vector(2)]"):
        return a + b[0] + b[1]

    assert [p.name for p in double.inputs] == ["x", "n"] and [p.name for p in double.weights] == ["w"]
    assert [p.kind.shape for p in total.inputs] == [(), (2,)] and total.inputs[0].kind.high == 9
    with pytest.raises(TraceError, match=r"an annotation lw.vector lacks its size; write lw.vector\(4\)"):

        @lw.circuit
        def sizeless(b: Annotated[lw.Array, lw.vector]):
            return b[0]

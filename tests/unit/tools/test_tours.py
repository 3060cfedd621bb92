"""The data way of ARCHITECTURE.md and the tours of the package lead along the way of the code, and seldom back up."""

import ast
import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "src" / "latticework"
MOST_CLIMBS = 5
DATA = "the data"  # its section is "The path of the data"
PROGRAMS = {
    "`x @ w`": (
        "@lw.program\ndef made(x: lw.Secret[8], w):\n    return x @ w\n",
        "weights=np.ones((8, 4)), calibrate=np.ones((3, 8))",
    ),
    "`a * b + a`": (
        "@lw.circuit\ndef made(a: lw.scalar(), b: lw.scalar()):\n    return a * b + a\n",
        "calibrate={'a': np.ones(3), 'b': np.ones(3)}",
    ),
}
PROGRAMS[DATA] = PROGRAMS["`x @ w`"]
RUN = """
client = model.client()
keys = client.keygen()
server = model.server(keys.public())
client.decrypt(server.run(client.encrypt(np.ones(8))))
"""
FOLLOWED = """
import json, sys
import numpy as np
import latticework as lw
{program}
lw.compile
entered = []
def follow(frame, event, _argument):
    name = frame.f_code.co_filename
    if event == "call" and "latticework" in name and (not entered or name != entered[-1]):
        entered.append(name)
sys.setprofile(follow)
model = lw.compile(made, {arguments}, ring_degree=2048, insecure=True)
{run}
sys.setprofile(None)
print(json.dumps(entered))
"""


def tours():
    """Title -> the Python files that it stops at."""
    text = (PACKAGE / "README.md").read_text() + (ROOT / "ARCHITECTURE.md").read_text()
    pattern = rf"^## (?:A tour: (?=`)|The path of (?={DATA}))(`[^`]+`|{DATA})[^\n]*\n(.*?)(?=^#)"
    sections = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    return {title: re.findall(r"^\d+\. `([\w/]+\.py)`", body, re.MULTILINE) for title, body in sections}


@cache
def floors():
    """Folder -> how many stand on each other up to it, by imports; a module in the root is a folder."""

    def folder(module):
        return module.split(".")[0]

    files = {
        path: path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".") for path in PACKAGE.rglob("*.py")
    }
    below = {}
    for path, name in files.items():
        imports = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and n.module]
        found = {n.module.removeprefix("latticework.") for n in imports if n.module.startswith("latticework.")}
        below.setdefault(folder(name), set()).update({folder(n) for n in found} - {folder(name)})

    @cache
    def floor(name):
        return 1 + max(map(floor, below.get(name, ())), default=0)

    return {name: floor(name) for name in below if name != "__init__"}


@pytest.mark.parametrize("title", PROGRAMS)
def test_a_tour_is_the_path_of_the_code(title, start_python):
    program, arguments = PROGRAMS[title]
    stops = tours()[title]
    code = FOLLOWED.format(program=program, arguments=arguments, run=RUN if title == DATA else "")
    output, errors = start_python(code).communicate()
    assert output, errors
    entered = iter(json.loads(output))
    for stop in stops:
        wanted = str(PACKAGE / stop)
        assert any(name == wanted for name in entered), f"{stop} is not entered after the stops before it"


@pytest.mark.parametrize(("title", "fewer_than"), [("`x @ w`", 31), ("`a * b + a`", 27), (DATA, 19)])
def test_a_tour_is_short_and_seldom_climbs(title, fewer_than):
    stops = tours()[title]
    heights = [floors()[stop.split("/")[0]] for stop in stops]
    climbs = sum(after > before for before, after in pairwise(heights))
    assert 10 < len(stops) < fewer_than and len(set(stops)) == len(stops)
    assert climbs <= MOST_CLIMBS, [*zip(stops, heights, strict=True)]

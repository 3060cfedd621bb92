"""docs/command-line.md and docs/operating.md: what they say of options is what there is, and their sessions happen as
they stand there, those of the second after those of the first.
"""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / name for name in ("command-line.md", "operating.md")]


def sessions():
    """Every command of the pages and what it prints, in order."""
    text = "\n".join(page.read_text() for page in PAGES)
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [
        re.match(r"([^\n]*)\n(.*)", step, re.DOTALL).groups()
        for b in blocks
        for step in re.split(r"^\$ ", b, flags=re.M)[1:]
    ]


def test_the_tables_of_the_pages_are_those_of_the_commands():
    written = runpy.run_path(str(ROOT / "tools" / "write_command_docs.py"))["written"]
    for page in PAGES:
        assert written(page.read_text()) == page.read_text(), "run tools/write_command_docs.py"


def test_the_sessions_of_the_pages(tmp_path):
    """In one folder, each line by a shell, as a user types them; `…` stands for what differs."""
    steps = sessions()
    (tmp_path / "program.py").write_text(dict(steps)["cat program.py"])
    weights, data = np.array([0.5, -1.0, 0.25, 1.0]), np.linspace(-1, 1, 80).reshape(20, 4)
    np.savez(tmp_path / "weights.npz", w=weights)
    np.save(tmp_path / "data.npy", data)
    np.save(tmp_path / "x.npy", data[3])
    tool = tmp_path / "bin" / "latticework"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m latticework "$@"\n')
    tool.chmod(0o755)
    paths = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    for command, printed in steps:
        told = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=paths,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ).stdout
        pattern = re.escape(printed).replace("…", ".*")
        assert re.fullmatch(pattern, told), f"$ {command}\n{told}"
    for folder, name in (("client", "y.npy"), (".", "again.npy")):
        want = 1 / (1 + np.exp(-(data[3] @ weights)))
        np.testing.assert_allclose(np.load(tmp_path / folder / name), want, atol=0.02)

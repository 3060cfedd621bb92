"""`latticework compile --dump` and `--ir`: the program at every stage in files, and on from one of them."""

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework import cli
from latticework.compiler.stage_table import NAMES

PROGRAM = "import latticework as lw\n@lw.program\ndef f(x: lw.Secret[4], w):\n    return x * w * x + 0.25\n"
CIRCUIT = "import latticework as lw\n@lw.circuit\ndef f(x: lw.vector(4, low=-1, high=1)):\n    return x[0] * x[1]\n"
SMALL = ("--ring-degree", "2048", "--insecure")
OPTIONS = ("--weights", "w.npy", "--calibrate", "data.npy", *SMALL)


def told(*words, status=0):
    result = CliRunner().invoke(cli.app, ["compile", *map(str, words), "--json"])
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with programs, and a dump of one."""
    folder = tmp_path_factory.mktemp("made")
    with contextlib.chdir(folder):
        Path("f.py").write_text(PROGRAM)
        Path("c.py").write_text(CIRCUIT)
        np.save("w.npy", np.array([0.5, -1.0, 2.0, 1.0]))
        np.save("data.npy", np.linspace(-1, 1, 12).reshape(3, 4))
        assert told("f.py", *OPTIONS, "-o", "m.lwplan", "--dump", "ir")["changes"] == []
    return folder


@pytest.fixture
def dumped(made, tmp_path, monkeypatch):
    """A copy of a test's own."""
    folder = shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(folder)
    return folder


def test_a_dump_has_a_file_for_each_stage_and_a_plan_comes_of_each(dumped):
    files = sorted((dumped / "ir").glob("*.ir"))
    assert [file.name for file in files] == [f"{n}-{stage}.ir" for n, stage in enumerate(NAMES, 1)]
    assert dict(np.load(dumped / "ir" / "constants.npz"))
    told("f.py", *OPTIONS, "-o", "m.lwplan", "--force")  # whose lines are in this folder, as those of texts are not
    for file in (files[0], files[-1]):
        told("f.py", *OPTIONS, "-o", "again.lwplan", "--ir", file, "--force")
        assert (dumped / "again.lwplan").read_bytes() == (dumped / "m.lwplan").read_bytes()


def test_an_edited_file_is_compiled_and_named(dumped):
    file = dumped / "ir" / "4-vectors.ir"
    file.write_text(file.read_text().replace("value = 0.25,", "value = 0.25001,"))
    (change,) = told("f.py", *OPTIONS, "-o", "n.lwplan", "--ir", file)["changes"]
    assert change.startswith("An edited text came after stage vectors")
    assert lw.load("n.lwplan", allow_insecure=True).plan.changes == (change,)
    file.write_text(file.read_text().replace("vec.splat", "vec.spread"))
    error = told("f.py", *OPTIONS, "-o", "o.lwplan", "--ir", file, status=1)["error"]
    assert error["at"].startswith("4-vectors.ir:") and "no op is called vec.spread" in error["message"]


def test_constants_beside_a_text_may_be_more(dumped):
    weights = np.array([0.25, 0.5, -0.5, 1.0])
    file = dumped / "ir" / "1-traced.ir"
    old = lw.ir.source_hash(np.load("w.npy"))
    file.write_text(file.read_text().replace(old, lw.ir.source_hash(weights)))
    words = ("f.py", *OPTIONS, "-o", "n.lwplan", "--ir", file, "--changes-results")
    assert "names constants that are not there" in told(*words, status=1)["error"]["message"]
    np.savez(dumped / "ir" / "constants.npz", mine=weights)
    assert told(*words)["changes"] == ["An edited text came after stage traced, and was allowed to change results."]
    x = np.load("data.npy")[0]
    assert np.allclose(lw.load("n.lwplan", allow_insecure=True).simulate(x)[0], x * weights * x + 0.25, atol=1e-2)


@pytest.mark.parametrize(
    ("words", "message", "status"),
    [
        (("ir/4-vectors.ir",), "is the text of a stage; name its program", 1),
        (("f.py", *OPTIONS, "--changes-results", "-o", "n.lwplan"), "give --ir FILE with it", 1),
        (("c.py", *SMALL, "--ir", "ir/4-vectors.ir", "-o", "n.lwplan"), "not what this model was compiled from", 1),
        (("f.py", *OPTIONS, "--ir", "w.npy", "-o", "n.lwplan"), "w.npy is no text", 1),
        (("f.py", *OPTIONS, "--ir", "none.ir", "-o", "n.lwplan"), "none.ir cannot be read", 1),
        (("f.py", *OPTIONS, "--dump", "none/ir", "-o", "n.lwplan"), "there is no folder none", 3),
        (("f.py", *OPTIONS, "--dump", "ir", "-o", "n.lwplan"), "exists", 3),
    ],
)
def test_what_does_not_fit_is_refused(dumped, words, message, status):
    assert message in told(*words, status=status)["error"]["message"]
    assert not (dumped / "n.lwplan").exists()


def test_a_dump_over_an_older_one_leaves_no_stage_of_that(dumped):
    told("c.py", *SMALL, "-o", "c.lwplan", "--dump", "ir", "--force")
    assert not (dumped / "ir" / "2-polynomials.ir").exists()
    assert "of circuit f, under ckks" in (dumped / "ir" / "4-vectors.ir").read_text()

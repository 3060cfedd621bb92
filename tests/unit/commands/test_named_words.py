"""Words such as zone=3: read by name, and refused as a wrong command line where there is no such name."""

import json

import numpy as np
import pytest
from onnx.helper import make_node as node
from onnx_graphs import model
from typer.testing import CliRunner

import latticework as lw
from latticework import cli
from latticework.commands.command_output import USAGE, UsageError
from latticework.commands.named_words import read_limits, read_shapes, split_name


def test_a_name_is_split_off_where_there_is_one(tmp_path, monkeypatch):
    """What is no name of the program may still be a file; a folder before it says that it is one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "year=2024.npy").touch()
    for word, wanted in {
        "zone=3": ("zone", "3"),
        "zone=a=b.npy": ("zone", "a=b.npy"),
        "x.npy": ("", "x.npy"),
        "year=2024.npy": ("", "year=2024.npy"),
        "./zome=3": ("", "./zome=3"),
        "=3": ("", "=3"),
        "zone": ("", "zone"),
    }.items():
        assert split_name(word, ["x", "zone"], "input") == wanted
    with pytest.raises(
        UsageError, match="zome=3: zome is no input of the program; did you mean zone.; there are x, zo"
    ):
        split_name("zome=3", ["x", "zone"], "input")
    with pytest.raises(UsageError, match="turns is no run-time integer of the program; there are none"):
        split_name("turns=3", [], "run-time integer")


def test_limits():
    assert read_limits(["work=5", "depth=7"]) == lw.ReadingLimits(work=5, depth=7) and read_limits(None)
    for word in ("work", "work=", "work=x", "speed=3", "work=-1", f"work={'9' * 30}"):
        with pytest.raises(UsageError, match="--limit .*names are work, memory_bytes, depth, file_bytes"):
            read_limits([word])
    with pytest.raises(UsageError, match="did you mean depth?"):
        read_limits(["dept=5"])
    with pytest.raises(lw.UserError, match="from 1 on"):
        read_limits(["work=0"])


def test_shapes():
    assert read_shapes(["x=1,4", "N=2"]) == {"x": (1, 4), "N": 2}
    for word in ("x", "=3", "x=a"):
        with pytest.raises(UsageError, match="give NAME=EXTENTS"):
            read_shapes([word])


@lw.circuit
def spread(x: lw.vector(2, low=0, high=3), zone: lw.scalar(low=0, high=3)):
    return x[0] * zone + x[1]


@lw.program
def repeat(x: lw.Secret[4], turns: lw.Index):
    return lw.for_loop(turns, lambda _, y: 0.5 * y, x, at_most=3)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with an exact circuit, a program with a run-time integer, a model of ONNX, and keys."""
    folder = tmp_path_factory.mktemp("named")
    exact = lw.compile(spread, scheme="bfv", plain_bits=16, effort="fast", ring_degree=2048, insecure=True)
    data = np.linspace(-1, 1, 8).reshape(2, 4)
    looped = lw.compile(repeat, calibrate=data, ring_degree=2048, insecure=True, precision_bits=6)
    for name, made in (("exact", exact), ("looped", looped)):
        made.save(folder / f"{name}.lwplan")
        client = made.client()
        client.save(folder / f"{name}.lwclient")
        client.keygen().save(folder / name)
    np.save(folder / "x.npy", np.array([1, 2]))
    (folder / "net.onnx").write_bytes(
        model([node("Relu", ["x"], ["y"])], {"x": ["rows", 2]}, ["y"]).SerializeToString()
    )
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "encrypt exact.lwclient x=x.npy zome=3 -k exact --insecure",
            "zome is no input of the program; did you mean zone?",
        ),
        ("run looped.lwplan in.lwct trun=3 -k looped/evaluation.lwkeys", "did you mean turns?; there is turns"),
        ("run looped.lwplan x=in.lwct turns=3 -k looped/evaluation.lwkeys", "x is no run-time integer"),
        ("compile exact.py --limit wrok=3", "--limit wrok=3: give NAME=NUMBER; did you mean work?"),
        ("quote exact.py --limit wrok=3", "did you mean work?"),
        ("inspect exact.py --shape 3", "--shape 3: give NAME=EXTENTS"),
        ("inspect net.onnx --shape row=3", "which is no input and no dimension of one; did you mean rows?"),
    ],
    ids=lambda text: text.split()[0],
)
def test_a_name_that_there_is_not_is_a_wrong_command_line(here, monkeypatch, words, said):
    monkeypatch.chdir(here)
    ended = CliRunner().invoke(cli.app, [*words.split(), "--json"])
    error = json.loads(ended.stdout)["error"]
    assert (ended.exit_code, error["exit_status"], error["kind"]) == (USAGE, USAGE, "UsageError"), error
    assert said in error["message"]
    ended = CliRunner().invoke(cli.app, words.split())
    assert ended.exit_code == USAGE and ended.stderr.startswith("UsageError: ") and said in ended.stderr

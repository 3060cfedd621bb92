"""`inspect`, and files of trained models at the command line: what they consist of, and a session with one."""

import json
import re

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import model
from typer.testing import CliRunner

from latticework import cli
from latticework.commands.command_table import COMMANDS
from latticework.commands.programs import load_program
from latticework.errors import SecurityError

node = helper.make_node
PROGRAM = """
import latticework as lw

@lw.program
def score(x: lw.Secret[1, 4], w):
    return lw.tanh(x @ w) * x.sum()
"""
RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3)).astype(np.float32)


def run(*words, status=0):
    done = CliRunner().invoke(cli.app, list(map(str, words)))
    assert done.exit_code == status, done.output
    return done.output


def classifier(path):
    made = model(
        [node("Relu", ["x"], ["r"]), node("MatMul", ["r", "w"], ["z"]), node("Softmax", ["z"], ["p"], axis=-1),
         node("ArgMax", ["p"], ["c"], axis=-1, keepdims=0)],
        {"x": ["N", 4]}, ["c"], [numpy_helper.from_array(W, "w")],
    )  # fmt: skip
    path.write_bytes(made.SerializeToString())
    return path


def table_of(output):
    return {row["operator"]: row for row in json.loads(output)["operators"]}


def test_operators_of_onnx_files_sides_and_levels(tmp_path):
    file = classifier(tmp_path / "net.onnx")
    told = json.loads(run("inspect", "--json", file, "--shape", "N=1"))
    rows = {row["operator"]: row for row in told["operators"]}
    assert told["supported"] and told["depth"] == {"levels": 1, "functions": 1}
    assert [rows[n]["where"] for n in ("Relu", "MatMul", "Softmax", "ArgMax")] == ["server"] * 2 + ["owner, after"] * 2
    assert rows["Relu"]["depth"] == {"levels": 0, "functions": 1} and rows["MatMul"]["depth"]["levels"] == 1
    assert told["inputs"] == [{"name": "x", "shape": [1, 4]}]
    text = run("inspect", file, "--shape", "x=1,4")
    assert "at most 1 + function" in text and "the owner of the data computes ArgMax after decryption" in text


def test_all_that_is_not_supported_is_told(tmp_path):
    made = model(
        [node("Relu", ["x"], ["r"]), node("Hardmax", ["r"], ["h"]), node("NonZero", ["h"], ["y"])], {"x": [1, 4]}, ["y"]
    )
    (tmp_path / "bad.onnx").write_bytes(made.SerializeToString())
    told = json.loads(run("inspect", "--json", tmp_path / "bad.onnx"))
    rows = {row["operator"]: row for row in told["operators"]}
    assert not told["supported"] and rows["Hardmax"]["where"] == "nowhere" and rows["Relu"]["problem"] == ""
    assert "after decryption" in rows["Hardmax"]["problem"]
    assert "cannot be computed encrypted:\n  Hardmax: " in run("inspect", tmp_path / "bad.onnx")


POOLED = [node("MaxPool", ["x"], ["r"], kernel_shape=[1, 2])], {"x": ["N", "C", "", 8]}, ["r"]
ADVICE = {
    "free": (classifier, []),
    "free axes": (lambda path: written(path, *POOLED), []),
    "unknown": (classifier, ["--shape", "M=1"]),
    "too many": (classifier, ["--shape", "x=1,4,5"]),
    "beside": (classifier, ["--shape", "x=1,4", "--shape", "N=2"]),
    "below 1": (classifier, ["--shape", "N=0"]),
    "another": (classifier, ["--shape", "x=2,4"]),
    "work": (classifier, ["--shape", "N=1", "--limit", "work=1"]),
    "pool": (lambda path: written(path, *POOLED), ["--shape", "x=1,1,4,8"]),
    "averages": (lambda path: written(path, *POOLED), ["--shape", "x=1,1,4,8", "--pools", "average"]),
    "refused": (lambda path: written(path, [node("Hardmax", ["x"], ["y"])], {"x": [1, 4]}, ["y"]), []),
}


def written(path, *graph):
    path.write_bytes(model(*graph).SerializeToString())
    return path


@pytest.mark.parametrize("name", ADVICE)
def test_advice_names_options_of_the_command(name, tmp_path):
    """What only Python takes is said to be its."""
    write, words = ADVICE[name]
    line = ["inspect", str(write(tmp_path / "net.onnx")), *words]
    for more in ([], ["--json"]):
        told = CliRunner().invoke(cli.app, [*line, *more]).output
        known = {option.flag for option in COMMANDS["inspect"].options}
        assert set(re.findall(r"(?<!\w)--[a-z-]+", told)) <= known
        outside = re.sub(r"lw\.from_onnx\([^()]*\) in Python|gap=\.\.\.", "", told)
        assert not re.search(r"\w=(?:[\[{(\"']|\s|$)|shapes|ReadingLimits", outside), told
    for given in re.findall(r"--shape (\S+=[\d,]*\d)", told):
        assert json.loads(run(*line, "--shape", given, "--json"))["supported"]


def test_programs_are_inspected_too(tmp_path):
    (tmp_path / "score.py").write_text(PROGRAM.replace(", w)", ", w=1.0)").replace("x @ w", "x * 3.0"))
    told = json.loads(run("inspect", "--json", f"{tmp_path / 'score.py'}:score"))
    assert told["depth"] == {"levels": 2, "functions": 1} and told["program"] == "score"


def test_a_session_with_an_onnx_file(tmp_path):
    """Raw inputs at the start, classes at the end."""
    x = RNG.uniform(-1, 1, size=(40, 4))
    np.save(tmp_path / "x.npy", x)
    plan, client, keys = tmp_path / "net.lwplan", tmp_path / "net.lwclient", tmp_path / "keys"
    file = classifier(tmp_path / "net.onnx")
    run("compile", file, "--shape", "N=1", "--calibrate", tmp_path / "x.npy", "--precision-bits", 6, "-o", plan)
    run("keygen", client, "-o", keys)
    np.save(tmp_path / "some.npy", x[:5])
    run("encrypt", client, tmp_path / "some.npy", "-k", keys, "-o", tmp_path / "in")
    run("run", plan, tmp_path / "in", "-k", keys / "evaluation.lwkeys", "-o", tmp_path / "out")
    found = json.loads(run("decrypt", "--json", client, tmp_path / "out", "-k", keys))["outputs"]["result"]
    wanted, certain = (np.maximum(x[:5], 0) @ W).argmax(-1), np.array(found["certain"])
    assert np.array_equal(np.array(found["values"])[certain], wanted[certain]) and certain.sum() >= 3


def test_trust(tmp_path):
    (tmp_path / "net.pt2").write_bytes(b"anything")
    with pytest.raises(SecurityError, match="with trust=True it is read"):
        load_program(str(tmp_path / "net.pt2"))
    assert "--trust-file" in run("inspect", tmp_path / "net.pt2", status=1)


@pytest.mark.slow
def test_files_of_scikit_learn(tmp_path):
    skops_io = pytest.importorskip("skops.io")
    from sklearn.linear_model import LinearRegression

    fitted = LinearRegression().fit(RNG.normal(size=(20, 4)), RNG.normal(size=20))
    skops_io.dump(fitted, tmp_path / "fit.skops")
    assert load_program(str(tmp_path / "fit.skops"))(np.ones((1, 4))).shape[0] == 1
    assert table_of(run("inspect", "--json", tmp_path / "fit.skops"))["linear"]["where"] == "server"


@pytest.mark.slow
def test_files_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(-1)).eval()
    torch.export.save(torch.export.export(net, (torch.zeros(1, 4),)), tmp_path / "net.pt2")
    rows = table_of(run("inspect", "--json", "--trust-file", tmp_path / "net.pt2"))
    assert rows["aten.linear.default"]["where"] == "server" and rows["aten.softmax.int"]["where"] == "owner, after"

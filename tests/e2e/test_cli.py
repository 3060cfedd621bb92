"""The command line: client and server as separate processes that share nothing but files."""

import csv
import json
import os
import runpy
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.commands.array_files import read_arrays, read_values
from latticework.errors import FormatError
from latticework.plan.files.serialise import read_plan

PROGRAM = """
import latticework as lw

@lw.program
def score(x: lw.Secret[1, 16], w1, b1, w2):
    return lw.relu(x @ w1 + b1, degree=7) @ w2
"""


def latticework(folder, *arguments, fails=False):
    """One process of the command line; its output."""
    done = subprocess.run(
        [sys.executable, "-m", "latticework", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def fault(*arguments, status=1):
    """What a command of this process says when it ends with a fault; faults need no process of their own."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert (done.exit_code, type(done.exception)) == (status, SystemExit), done.output
    return done.output.replace("\n", " ")


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Files of one whole session: compile, keygen, encrypt, run, each its own process."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(5)
    weights = {"w1": rng.normal(size=(16, 8)) / 4, "b1": rng.normal(size=8) / 4, "w2": rng.normal(size=(8, 3)) / 3}
    data = rng.uniform(0, 1, size=(50, 16))
    (folder / "program.py").write_text(PROGRAM)
    np.savez(folder / "weights.npz", **weights)
    np.save(folder / "data.npy", data)
    np.save(folder / "x.npy", data[:1])
    np.save(folder / "narrow.npy", data[:1, :15])
    latticework(
        folder, "compile", "program.py:score", "--weights", "weights.npz", "--calibrate", "data.npy", "--network", "5e8",
        "--ring-degree", 2048, "--insecure", "-o", "model.lwplan", "--report", "report.html",
    )  # fmt: skip
    latticework(folder, "keygen", "model.lwclient", "-o", "keys", "--insecure")
    latticework(folder, "encrypt", "model.lwclient", "x.npy", "-k", "keys", "-o", "in.lwct", "--insecure")
    server = folder / "server"  # the server's machine: no secret key anywhere
    server.mkdir()
    for name in ("model.lwplan", "keys/evaluation.lwkeys", "in.lwct"):
        (server / os.path.basename(name)).write_bytes((folder / name).read_bytes())
    latticework(server, "run", "model.lwplan", "in.lwct", "-k", "evaluation.lwkeys", "-o", "out.lwct")
    return folder, weights, data


def test_decrypted_equals_numpy(session):
    folder, weights, data = session
    latticework(folder, "decrypt", "model.lwclient", "server/out.lwct", "-k", "keys", "-o", "y.npy", "--insecure")
    got = np.load(folder / "y.npy")
    model = lw.load(folder / "model.lwplan")
    (want,) = model.simulate(data[:1])
    assert np.abs(got - want).max() <= model.plan.client.outputs[0].error_bound
    exact = np.maximum(data[:1] @ weights["w1"] + weights["b1"], 0) @ weights["w2"]
    assert np.abs(got - exact).max() < 0.1
    assert stat.S_IMODE((folder / "y.npy").stat().st_mode) == 0o600


def test_output_bytes_equal_those_of_the_same_run_in_this_process(session):
    folder, _, _ = session
    server = lw.Server.load(folder / "model.lwplan", folder / "keys" / "evaluation.lwkeys")
    outputs = server(server.load_encrypted(folder / "in.lwct"))
    assert outputs.to_bytes() == (folder / "server" / "out.lwct").read_bytes()


def test_client_file_holds_no_weights(session):
    folder, weights, _ = session
    client_file = (folder / "model.lwclient").read_bytes()
    sources = read_plan(folder / "model.lwplan").sources.values()
    assert any(np.array_equal(array, weights["w1"]) for array in sources)
    for array in weights.values():
        assert array.astype("<f8").tobytes()[:16] not in client_file


def test_anyone_can_encrypt_with_the_public_key(session):
    folder, _, data = session
    public = ("-k", "keys/public.lwkey")
    latticework(folder, "encrypt", "model.lwclient", "x=x.npy", *public, "-o", "in2.lwct", "--insecure")
    said = latticework(
        folder,
        "run",
        "model.lwplan",
        "in2.lwct",
        "-k",
        "keys/evaluation.lwkeys",
        "-o",
        "out2.lwct",
        "--key-memory",
        "1MB",
        "--json",
        "-v",
    )
    traffic = json.loads(said)["key_traffic"]
    assert traffic["loads"] > 0 and traffic["peak_bytes"] <= traffic["budget_bytes"] == 10**6
    printed = latticework(folder, "decrypt", "model.lwclient", "out2.lwct", "-k", "keys/secret.lwkey", "--insecure")
    (want,) = lw.load(folder / "model.lwplan").simulate(data[:1])
    got = np.array([float(v) for v in printed.split("[[")[1].split("]]")[0].split()])
    assert np.abs(got - want[0]).max() < 1e-2


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_the_kernels_of_a_run_can_be_profiled(session, device):
    folder, _, _ = session
    run = ("run", "model.lwplan", "in.lwct", "-k", "keys/evaluation.lwkeys", "--device", device, "--force")
    said = latticework(folder, *run, "-o", "out3.lwct", "--profile", "kernels.csv")
    rows = list(csv.DictReader((folder / "kernels.csv").read_text().splitlines()))
    assert {"operation", "kernel", "seconds"} <= rows[0].keys() and rows[0]["kernel"] in said
    told = latticework(folder, *run, "-o", "out3.lwct", "--profile", "kernels.json", "--json")
    assert json.loads(told)["profile"] == "kernels.json"
    assert json.loads((folder / "kernels.json").read_text())["traceEvents"]


@pytest.mark.parametrize(("file", "text"), [("k.txt", "ends in .json"), ("out.json", "another file of this command")])
def test_files_of_profiles_that_are_refused(session, monkeypatch, file, text):
    monkeypatch.chdir(session[0])
    run = ("run", "model.lwplan", "in.lwct", "-k", "keys/evaluation.lwkeys", "-o", "out.json")
    assert text in fault(*run, "--profile", file)


def test_explain_and_report(session):
    folder, _, _ = session
    text = latticework(folder, "explain", "model.lwplan")
    assert "score" in text and "INSECURE" in text
    assert "secret" in latticework(folder, "explain", "keys/secret.lwkey").lower()
    html = (folder / "report.html").read_text()
    assert "<svg" in html and "INSECURE" in html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "model.lwplan", "in.lwct", "-k", "keys/secret.lwkey"], ["secret key"]),
        (["run", "model.lwplan", "in.lwct", "-k", "keys"], ["secret key", "give it keys/evaluation.lwkeys alone"]),
        (["run", "model.lwplan", "in.lwct"], ["keys holds a secret key, secret.lwkey"]),
        (["run", "model.lwclient", "in.lwct", "-k", "keys/evaluation.lwkeys"], ["client file"]),
        (["decrypt", "model.lwclient", "in.lwct", "-k", "keys", "--insecure"], ["inputs of program", "outputs"]),
        (["encrypt", "model.lwclient", "narrow.npy", "-k", "keys", "--insecure"], ["(1, 15)", "(1, 16)"]),
        (["encrypt", "model.lwclient", "x=weights.npz", "-k", "keys", "--insecure"], ["w1, b1, w2", "x=INPUT.npy"]),
        (["encrypt", "model.lwclient", "x.npy", "-k", "keys"], ["INSECURE", "--insecure"]),
        (["keygen", "model.lwclient"], ["INSECURE", "--insecure"]),
        (["decrypt", "model.lwclient", "server/out.lwct", "-k", "keys"], ["INSECURE", "--insecure"]),
        (["compile", "program.py", "--calibrate", "program.py"], ["save it with np.save('program.npy'"]),
        (["compile", "program.py:scoer"], ["score", "program.py:NAME"]),
        (["compile", "program.py", "--network", "internet"], ["--network internet", "'lan', 'wan'"]),
        (["compile", "program.py", "--weights", "data.npy"], ["w1"]),
        (["keygen", "program.py"], ["program.py"]),
    ],
)
def test_faults_are_one_message_and_status_1(session, monkeypatch, arguments, words):
    monkeypatch.chdir(session[0])
    printed = fault(*arguments, "-o", "unwanted.npy")
    for word in words:
        assert word in printed
    assert not Path("unwanted.npy").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["encrypt", "model.lwclient", "nothing.npy", "-k", "keys", "--insecure"], ["nothing.npy", "inputs x"]),
        (["encrypt", "model.lwclient", "x=a", "-k", "keys", "--insecure"], ["'a'", "NAME=3"]),
        (["keygen", "none.lwclient"], ["FileNotFoundError: none.lwclient: cannot open"]),
        (["compile", "none.py"], ["no such file: none.py"]),
    ],
)
def test_what_the_system_refuses_is_status_3(session, monkeypatch, arguments, words):
    monkeypatch.chdir(session[0])
    printed = fault(*arguments, "-o", "unwanted.npy", status=3)
    for word in words:
        assert word in printed
    assert "Errno" not in printed and not Path("unwanted.npy").exists()


def test_a_fault_of_a_process(session):
    folder, _, _ = session
    assert "client file" in latticework(
        folder, "run", "model.lwclient", "in.lwct", "-k", "keys/evaluation.lwkeys", fails=True
    )


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("import latticework as lw\nx = = 1\n", "broken.py:2", "SyntaxError"),
        ("import nonexistent_module\n", "broken.py:1", "No module named 'nonexistent_module'"),
        ("def f():\n    return 1 / 0\n\nf()\n", "broken.py:2", "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", "broken.py:2", "SystemExit: 3"),
        ("import latticework as lw\n\nlw.program(int)\n", "broken.py:3", "without parentheses"),
    ],
)
def test_a_file_that_cannot_be_executed_is_named_with_its_line(tmp_path, monkeypatch, text, place, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text(text)
    printed = fault("compile", "broken.py")
    assert "TraceError" in printed and place in printed and words in printed and "typer" not in printed


@pytest.mark.parametrize("content", [b"1,2\n3,4\n", b"PK\x03\x04 cut", b"", np.array([None]).dumps()])
def test_files_that_are_no_arrays_are_answered_with_how_to_save_one(tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(FormatError, match=r"save it with np.save\('.*x.npy'") as caught:
        read_arrays(tmp_path / "x.csv")
    assert "pickle" not in str(caught.value)


def test_integers_of_files_are_run_time_integers(tmp_path):
    np.savez(tmp_path / "inputs.npz", n=np.int64(3), x=np.ones(2), s=np.float64(0.5))
    values = read_values(tmp_path / "inputs.npz")
    assert type(values["n"]) is int and values["n"] == 3
    assert values["x"].shape == (2,) and values["s"].dtype == np.float64


ROOT = Path(__file__).resolve().parents[2]
EVERY_STEP = """
import sys
from latticework.commands.plain_words import run_plain_words as run

def parts():
    return {module.partition(".")[2] for module in sys.modules if module.startswith("latticework.")}

assert run(["version"]) == 0 and "numpy" not in sys.modules
for words in {steps}:
    assert run(words.split()) == 0
without_report = parts()
assert run(["explain", "model.lwplan"]) == 0
assert not {optional} & set(sys.modules)
print(" ".join(without_report), " ".join(parts() - without_report), sep="\\n", file=sys.stderr)
"""


def test_no_command_but_compile_loads_the_compiler(session):
    """Not for all that it does either: a name that is found when it is used could still load it."""
    folder, _, _ = session
    steps = [
        "keygen model.lwclient -o other --insecure",
        "encrypt model.lwclient x.npy -k other -o other.lwct --insecure",
        "run model.lwplan other.lwct -k other/evaluation.lwkeys -o answer.lwct",
        "decrypt model.lwclient answer.lwct -k other -o answer.npy --insecure",
    ]
    checked = runpy.run_path(str(ROOT / "tools" / "check_import_time.py"))
    command = [
        sys.executable,
        "-c",
        EVERY_STEP.replace("{steps}", repr(steps)).replace("{optional}", repr({*checked["OPTIONAL"]})),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    *_, loaded, for_explain = done.stderr.splitlines()
    allowed = {
        part for step in steps for part in checked["MAY_LOAD"][f"latticework.commands.{step.split()[0]}"].split()
    }
    allowed |= {*checked["FOR_ALL"], *checked["OPTIONS"]}
    assert {"runtime.server.server", "plan.schema.schema"} <= set(loaded.split())
    assert not [part for part in loaded.split() if not any(checked["is_along"](part, name) for name in allowed)]
    assert {part.split(".")[0] for part in for_explain.split()} - {"commands", "plan"} == {"report"}

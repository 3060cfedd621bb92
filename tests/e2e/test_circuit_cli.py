"""Circuits at the command line: compiled, encrypted by the user's names, and decrypted to named results."""

import numpy as np
import pytest
from typer.testing import CliRunner

from latticework.cli import app

CIRCUIT = """
import latticework as lw

@lw.circuit
def f(x: lw.vector(2), y: lw.scalar()):
    return {"a": (x[0] * y, x[1] + y), "b": x[::-1]}
"""


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("scheme", ["bfv", "ckks"])
def test_a_session_with_files(tmp_path, scheme):
    (tmp_path / "f.py").write_text(CIRCUIT)
    plan, client, keys = tmp_path / "f.lwplan", tmp_path / "f.lwclient", tmp_path / "keys"
    data = tmp_path / "data.npz"
    np.savez(data, x=[[-9, -9], [9, 9]], y=[-9, 9])
    calibrate = ["--calibrate", data] if scheme == "ckks" else []
    run("compile", tmp_path / "f.py", "--scheme", scheme, "--effort", "fast", *calibrate, "-o", plan)
    run("keygen", client, "-o", keys)
    np.savez(tmp_path / "x.npz", x=[3, 4], y=5)
    run("encrypt", client, tmp_path / "x.npz", "-k", keys, "-o", tmp_path / "in.lwct")
    run("run", plan, tmp_path / "in.lwct", "-k", keys / "evaluation.lwkeys", "-o", tmp_path / "out.lwct")
    run("decrypt", client, tmp_path / "out.lwct", "-k", keys, "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as file:
        got = dict(file)
    for name, want in {"a.result0": 15, "a.result1": 9, "b": [4, 3]}.items():
        np.testing.assert_allclose(got[name], want, atol=0.1 if scheme == "ckks" else 0)
    assert "Schedule" in run("explain", plan)

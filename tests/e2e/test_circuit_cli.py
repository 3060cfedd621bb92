"""Circuits at the command line: compiled, encrypted by the user's names, and decrypted to named results."""

import json

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


WIDE = """
import latticework as lw

@lw.circuit
def f(x: lw.scalar(), y: lw.scalar(low=0, high=2**64 - 1), small: lw.scalar(low=-5, high=5)):
    return {"product": x * y, "square": small * small}
"""


def test_a_session_with_wide_integers_and_without_keys(tmp_path):
    (tmp_path / "f.py").write_text(WIDE)
    plan, client, keys = tmp_path / "f.lwplan", tmp_path / "f.lwclient", tmp_path / "keys"
    small = ("--ring-degree", 1024, "--insecure")
    run("compile", tmp_path / "f.py", "--scheme", "bfv", "--integers", 64, "--batch", "fill", *small, "-o", plan)
    run("keygen", client, "-o", keys, "--insecure")
    x, y = np.array([-(2**63), 2**63 - 1, 0]), np.array([2**64 - 1, 1, 7], dtype=np.uint64)
    np.savez(tmp_path / "in.npz", x=x, y=y, small=np.int8([-5, 5, 0]))
    run("encrypt", client, tmp_path / "in.npz", "-k", keys, "-o", tmp_path / "in.lwct", "--insecure")
    run("run", plan, tmp_path / "in.lwct", "-o", tmp_path / "out.lwct")
    again = ("decrypt", client, tmp_path / "out.lwct", "-k", keys, "--insecure")
    run(*again, "-o", tmp_path / "out.npz")
    wanted = [int(a) * int(b) for a, b in zip(x, y, strict=True)]
    with np.load(tmp_path / "out.npz") as file:  # no pickle: decimal digits where int64 does not hold a result
        assert [int(text) for text in file["product"]] == wanted and file["product"].dtype.kind == "S"
        assert file["square"].tolist() == [25, 25, 0] and file["square"].dtype == np.int64
    assert str(wanted[0]) in run(*again)
    assert json.loads(run(*again, "--json"))["outputs"]["product"]["values"] == wanted
    np.savez(tmp_path / "in.npz", x=[0.5], y=[1], small=[0])
    refused = CliRunner().invoke(
        app,
        list(map(str, ("encrypt", client, tmp_path / "in.npz", "-k", keys, "-o", tmp_path / "bad.lwct", "--insecure"))),
    )
    assert refused.exit_code != 0 and not (tmp_path / "bad.lwct").exists()

"""`latticework new`: every kind of project runs as it is written, and decrypts what it expects."""

import runpy

import numpy as np
import pytest
from typer.testing import CliRunner

from latticework.cli import COMMANDS, app

KINDS = next(option.choices for option in COMMANDS["new"].options if option.choices)


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_runs_from_training_to_decryption(kind, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch" if kind == "torch" else "sklearn")
    folder = tmp_path / "mine"
    done = CliRunner().invoke(app, ["new", kind, str(folder)])
    assert done.exit_code == 0, done.output
    monkeypatch.chdir(folder)
    for words in (["model.py"], ["client.py", "encrypt"], ["server.py"], ["client.py", "decrypt"]):
        monkeypatch.setattr("sys.argv", words)
        runpy.run_path(words[0])
    assert not list((folder / "server").rglob("secret*"))
    told = capsys.readouterr().out
    if kind == "sklearn":  # rows of words and gaps, and classes that have names
        table = (folder / "client" / "inputs.csv").read_text()
        assert ",NA" in table and "\n," in table
        decrypted, expected = (line.split(maxsplit=1)[1] for line in told.splitlines())
        assert decrypted == expected and "pays" in expected and "fails" in expected
        return
    numbers = [np.array(line.split(maxsplit=1)[1].strip("[] ").split(), float) for line in told.splitlines()]
    assert np.allclose(*numbers, atol=0.05 if kind == "torch" else 0)


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "own.txt").write_text("mine")
    done = CliRunner().invoke(app, ["new", "circuit", str(tmp_path)])
    assert done.exit_code == 3
    assert "not empty" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]

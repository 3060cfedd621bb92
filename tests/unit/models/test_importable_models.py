"""Models of other packages that are given where a program belongs: the message writes the call that makes one."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import latticework as lw
from latticework.commands.programs import load_program
from latticework.errors import TraceError
from latticework.values.inputs.importable_models import find_importer

X = np.arange(12.0).reshape(4, 3)
PIPELINE = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("given", "call"),
    [
        (PIPELINE, "lw.from_sklearn(estimator)"),
        (LogisticRegression(), "lw.from_sklearn(estimator)"),
        (torch.nn.Sequential(torch.nn.Linear(3, 1)), "lw.from_torch(module, example)"),
        (onnx.ModelProto(), "lw.from_onnx(model)"),
        ("net.onnx", "lw.from_onnx(path)"),
        (Path("folder/NET.ONNX"), "lw.from_onnx(path)"),
        (Path("m.skops"), "lw.from_sklearn(lw.load_skops(path))"),
    ],
)
def test_compile_writes_the_call(given, call):
    with pytest.raises(TraceError) as caught:
        lw.compile(given)
    assert f"lw.compile({call}, calibrate=rows)" in str(caught.value) and "decorate" not in str(caught.value)


def test_the_call_for_an_estimator_runs_as_it_is_written():
    with pytest.raises(TraceError) as caught:
        lw.compile(PIPELINE)
    call = str(caught.value).partition("give ")[2].partition(", with")[0]
    model = eval(call, {"lw": lw, "estimator": PIPELINE, "rows": X})
    assert np.array_equal(model.simulate(X)[0], PIPELINE.predict(X))


def test_what_none_takes():
    for given in (None, 3, "", "net.pt2", "a\0b", np.zeros(3), len, object, lambda x: x, type("fit", (), {})):
        assert find_importer(given) is None


def test_the_command_writes_the_call_for_what_a_file_holds(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import torch\nnet = torch.nn.Linear(3, 1)\nrows = 3\n")
    with pytest.raises(TraceError, match=r"net is a PyTorch module: .* lw.from_torch\(module, example\)"):
        load_program(f"{path}:net")
    with pytest.raises(TraceError, match="decorated with @lw.program"):
        load_program(f"{path}:rows")

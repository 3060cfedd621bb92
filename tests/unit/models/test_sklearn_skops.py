"""Files of skops: scikit-learn's own types are loaded, nothing else is."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import latticework as lw
from latticework.errors import UnsupportedError, UserError

pytest.importorskip("skops")
from sklearn.linear_model import Ridge
from sklearn.preprocessing import FunctionTransformer
from sklearn_cases import CASES, TREES, data, fitted
from skops import io


class Foreign(Ridge):
    """A class of somebody else."""


@pytest.mark.parametrize("name", ["logistic-named", "svc-rbf", "mlp", "calibrated", "voting", "grid", "forest"])
def test_loaded_estimators_compute_the_same(name: str, tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    io.dump(fitted(name), file)
    x, _ = data((CASES | TREES)[name][1])
    options = {"trees": "sign", "samples": x, "gap": 2**-10} if name in TREES else {}
    program = lw.from_sklearn(lw.load_skops(file), **options)
    found, expected = program(x[::9]), fitted(name).predict(x[::9])
    assert np.allclose(found, expected, rtol=1e-9) if expected.dtype.kind == "f" else np.array_equal(found, expected)


@pytest.mark.parametrize("name", ["tweedie-log", "select", "imputer", "histogram", "bagged-trees"])
def test_parts_of_estimators_are_trusted(name: str, tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    io.dump(fitted(name), file)
    assert type(lw.load_skops(file)) is type(fitted(name))


def test_other_types_are_listed(tmp_path: Path) -> None:
    x, y = data("iris")
    file = tmp_path / "model.skops"
    io.dump([Foreign().fit(x, y), FunctionTransformer(np.loadtxt)], file)
    with pytest.raises(
        UnsupportedError, match=r"model.skops holds types .* test_sklearn_skops.Foreign; load it yoursel"
    ):
        lw.load_skops(file)


def test_pickles_are_no_files_of_skops(tmp_path: Path) -> None:
    file = tmp_path / "model.pkl"
    file.write_bytes(pickle.dumps(Ridge()))
    with pytest.raises(UserError, match="is no file of skops; write one with skops.io.dump.* never loaded"):
        lw.load_skops(file)
    with pytest.raises(UserError, match="No such file"):
        lw.load_skops(tmp_path / "none.skops")


def test_broken_files_are_told(tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    io.dump(fitted("logistic"), file)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(bytes(content))
    with pytest.raises(UserError, match="model.skops"):
        lw.load_skops(file)

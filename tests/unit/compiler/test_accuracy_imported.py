"""Accuracy of imported models: the owner's steps before and after, and decisions by the names that they give."""

from contextlib import nullcontext

import numpy as np
import pytest

import latticework as lw
from latticework.commands.accuracy import _read_labels
from latticework.errors import RangeError, UserError
from latticework.values.inputs.reading_budget import DEFAULTS

sklearn = pytest.importorskip("sklearn")
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.neural_network import MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 5)) * (1, 10, 0.1, 3, 200) + (0, 40, 0, -3, 1000)
NAMES = np.array(["ham", "spam", "eggs"])
CLASSES = NAMES[np.argmax(((X - X.mean(0)) / X.std(0))[:, :3] + RNG.normal(size=(120, 3)) / 2, axis=1)]
SMALL = {"ring_degree": 2048, "insecure": True}


def test_classes_by_their_names():
    estimator = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, CLASSES)
    model = lw.compile(lw.from_sklearn(estimator), calibrate=X, precision_bits=10, **SMALL)
    data = np.concatenate([X[:40], X[:1] + 1e6])
    labels = np.append(CLASSES[:40], "ham")
    report = model.accuracy(data, labels, encrypted=3)
    itself, polynomials, noisy, encrypted = report.columns
    assert itself.score == np.mean(estimator.predict(data) == labels) and report.refused == (40,)
    assert polynomials.score == noisy.score == estimator.score(X[:40], CLASSES[:40]) == noisy.float_score
    assert [c.agreement for c in report.columns[1:]] == [1.0, 1.0, 1.0] and len(encrypted.rows) == 3
    assert report.measure == "accuracy" and "label" in report.decision
    assert [c.first_off for c in report.columns] == [None] * 4
    assert [list(c.results[0]) for c in report.columns] == [
        list(estimator.predict(data[list(c.rows)])) for c in report.columns
    ]
    with pytest.raises(RangeError, match="none of the classes that the program gives"):
        model.accuracy(X[:4], np.arange(4))


@pytest.mark.parametrize("named", [CLASSES, CLASSES.astype(object), np.searchsorted(np.unique(CLASSES), CLASSES) + 5])
def test_labels_of_chances_are_those_of_the_estimator(named):
    estimator = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, named)
    right = estimator.score(X, named)
    for method in ("predict_proba", "decision_function"):
        model = lw.compile(
            lw.from_sklearn(estimator, method), calibrate=X, labels=named, precision_bits=10, progress=False, **SMALL
        )
        report = model.accuracy(X, named, encrypted=0, progress=False)
        assert [column.score for column in report.columns] == [right] * 3 == [model.scores.exact] * 3
        numbered = np.searchsorted(estimator.classes_, named)  # numbers of classes, which are none of its names
        assert model.accuracy(X, numbered, encrypted=0, progress=False).columns[0].score == right


def test_labels_that_are_no_class_are_refused():
    estimator = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, CLASSES == "ham")
    model = lw.compile(lw.from_sklearn(estimator, "predict_proba"), calibrate=X, precision_bits=10, **SMALL)
    assert model.accuracy(X[:20], CLASSES[:20] == "ham", encrypted=0, progress=False).columns[0].score > 0.5
    with pytest.raises(RangeError, match=r"hold 'maybe', which is none of the 2 classes .*\(False, True\)"):
        model.accuracy(X[:2], ["True", "maybe"], encrypted=0, progress=False)


def test_the_command_takes_labels_of_a_table(tmp_path):
    for header, told in (("class", None), ("class,more", "labels alone")):
        rows = [",".join([name] * len(header.split(","))) for name in CLASSES[:3]]
        (tmp_path / "y.csv").write_text("\n".join([header, *rows]) + "\n")
        with nullcontext() if told is None else pytest.raises(UserError, match=told):
            assert list(_read_labels(tmp_path / "y.csv", DEFAULTS)) == list(CLASSES[:3])


def test_numbers_with_the_owners_steps():
    goal = np.tanh((X[:, 0] + X[:, 3]) / 4)
    estimator = make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", max_iter=3000, tol=1e-2, random_state=0),
    ).fit(X, goal)
    model = lw.compile(lw.from_sklearn(estimator), calibrate=X, precision_bits=8, **SMALL)
    report = model.accuracy(X[:30], goal[:30], encrypted=2)
    assert report.measure == "R^2" and np.isclose(report.columns[0].score, estimator.score(X[:30], goal[:30]))
    assert np.allclose(np.ravel(report.columns[0].results[0]), estimator.predict(X[:30]))
    assert abs(report.columns[2].score - report.columns[0].score) < 0.02
    assert any(line.function is not None and line.function.function == "tanh" for line in report.lines)


@pytest.mark.slow  # torch.export alone takes seconds
def test_a_module_of_pytorch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.Sigmoid(), torch.nn.Linear(6, 3), torch.nn.Softmax(-1))
    data = np.random.default_rng(2).uniform(-1, 1, size=(40, 5)).astype(np.float32)
    model = lw.compile(lw.from_torch(module, torch.zeros(1, 5)), calibrate=data, precision_bits=8, **SMALL)
    with torch.no_grad():
        expected = module(torch.from_numpy(data)).numpy()
    report = model.accuracy(data, expected.argmax(axis=1), encrypted=2)
    assert report.columns[0].score == 1.0 and report.columns[1].agreement >= 0.9
    program = lw.from_torch(module, torch.zeros(1, 5))
    assert np.allclose(np.concatenate([program(row[None]) for row in data]), expected, atol=1e-6)


def test_a_model_of_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(3)
    w = rng.normal(size=(5, 2)).astype(np.float32)
    helper, tensor = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x", tensor, [1, 5])],
        [helper.make_tensor_value_info("y", tensor, [1, 2])], [onnx.numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "small.onnx")
    data = rng.uniform(-1, 1, size=(30, 5))
    model = lw.compile(lw.from_onnx(tmp_path / "small.onnx"), calibrate=data, precision_bits=8, **SMALL)
    report = model.accuracy(data, np.argmax(data @ w, axis=1), encrypted=1)
    assert np.allclose(report.columns[0].results[0], np.tanh(data @ w.astype(float))) and report.columns[0].score == 1.0
    assert report.columns[3].error < 2.0**-8

"""Files that hold all training rows: no message advises a cut that gives the client the distance to each of them."""

import warnings

import numpy as np
import onnx_graphs
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from sklearn.cluster import KMeans
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier
from sklearn.svm import SVC, SVR

import latticework as lw
from latticework.errors import UnsupportedError

RNG = np.random.default_rng(2)
X = RNG.normal(size=(30, 3)).astype(np.float32)
Y = np.digitize(X @ [1, -1, 0.5], [-0.6, 0.6])
SHAPE = {"X": (1, 3)}
node = helper.make_node


def exported(fitted, **options):
    given = {"zipmap": False} if hasattr(fitted, "classes_") else {}
    opsets = {"": 17, "ai.onnx.ml": 3} | ({"com.microsoft": 1} if options else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return to_onnx(fitted, X[:1], options={id(fitted): {**given, **options}}, target_opset=opsets)


def written_out(*last):
    """Distances to all rows by differences, squares and sums, and nodes after them."""
    rows = helper.make_tensor("rows", TensorProto.FLOAT, [1, *X.shape], X.ravel().tolist())
    labels = helper.make_tensor("labels", TensorProto.INT64, [len(Y)], Y.tolist())
    arrays = [rows, labels, helper.make_tensor("two", TensorProto.FLOAT, [], [2.0])]
    arrays += [helper.make_tensor(name, TensorProto.INT64, [1], [value]) for name, value in {"one": 1, "k": 3}.items()]
    arrays.append(helper.make_tensor("gamma", TensorProto.FLOAT, [], [-0.5]))
    nodes = [
        node("Unsqueeze", ["X", "one"], ["wide"]), node("Sub", ["wide", "rows"], ["apart"]),
        node("Pow", ["apart", "two"], ["squares"]), node("ReduceSum", ["squares", "last"], ["far"], keepdims=0), *last,
    ]  # fmt: skip
    arrays.append(helper.make_tensor("last", TensorProto.INT64, [1], [2]))
    return onnx_graphs.model(nodes, {"X": ["N", 3]}, ["y"], arrays, ml=3, types={"y": TensorProto.INT64})


PLACES = node("TopK", ["far", "k"], ["", "y"], largest=0)
KERNELS = (node("Mul", ["far", "gamma"], ["e"]), node("Exp", ["e"], ["close"]))
FILES = {
    "nearest": lambda: exported(KNeighborsClassifier(3).fit(X, Y)),
    "nearest one": lambda: exported(KNeighborsClassifier(1).fit(X, Y)),
    "regression": lambda: exported(KNeighborsRegressor(2).fit(X, Y)),
    "weights": lambda: exported(KNeighborsClassifier(3, weights="distance").fit(X, Y)),
    "radius": lambda: exported(RadiusNeighborsClassifier(3.0).fit(X, Y)),
    "CDist": lambda: exported(KNeighborsClassifier(3).fit(X, Y), optim="cdist"),
    "written out, places": lambda: written_out(PLACES),
    "written out, label of the nearest": lambda: written_out(
        node("ArgMin", ["far"], ["place"], axis=1, keepdims=0), node("ArrayFeatureExtractor", ["labels", "place"], ["y"], domain="ai.onnx.ml")
    ),
    "kernels, label of the nearest": lambda: written_out(
        *KERNELS, node("ArgMax", ["close"], ["place"], axis=1, keepdims=0), node("Gather", ["labels", "place"], ["y"])
    ),
    "kernels, within a radius": lambda: written_out(
        *KERNELS, node("Greater", ["close", "gamma"], ["near"]), node("Where", ["near", "labels", "one"], ["y"])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_no_message_advises_to_cut_at_distances(name):
    with pytest.raises(UnsupportedError, match="distances to rows that the file holds") as caught:
        lw.from_onnx(FILES[name](), SHAPE)
    assert "cut the graph" not in str(caught.value) and "outputs=" not in str(caught.value)
    assert "fit NearestCentroid, or an SVC or SVR" in str(caught.value)
    assert caught.value.refused is not None


@pytest.mark.parametrize("fitted", [KMeans(3, n_init=2), GaussianNB(), SVC(), SVR()], ids=lambda f: type(f).__name__)
def test_centres_and_scores_of_kernels_are_taken_as_ever(fitted):
    program = lw.from_onnx(exported(fitted.fit(X, Y)), SHAPE)
    assert not any("distances" in note for note in program.notes)


def test_distances_that_are_asked_for_are_noted():
    program = lw.from_onnx(FILES["nearest"](), SHAPE, outputs=["Sq_Y0"])
    assert program.notes[0].startswith("Sq_Y0: distances to rows that the file holds")


def test_other_advice_stays():
    file = onnx_graphs.model(
        [node("MatMul", ["X", "w"], ["s"]), node("TopK", ["s", "k"], ["y", ""]), ], {"X": ["N", 3]}, ["y"],
        [helper.make_tensor("w", TensorProto.FLOAT, [3, 3], X[:3].ravel()), helper.make_tensor("k", TensorProto.INT64, [1], [2])],
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"cut the graph before it with outputs=\['s'\]"):
        lw.from_onnx(file, SHAPE)

"""Classes and scores of classifiers in ONNX files are those of onnxruntime, on all rows but ties."""

import warnings
from functools import partial

import numpy as np
import onnx_graphs
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

import latticework as lw
from latticework.errors import ShapeError, UnsupportedError

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
X = (np.rint(RNG.normal(size=(160, 4)) * 4) / 4).astype(np.float32)  # thresholds of trees lie half-way between
ROWS = (np.rint(RNG.normal(size=(60, 4)) * 4) / 4).astype(np.float32)
SCORE = X @ [1, -1, 0.5, 0.2] + RNG.normal(size=160) * 0.05
CLASSES = {
    "two": (SCORE > 0).astype(int),
    "signs": np.where(SCORE > 0, 1, -1),
    "texts": np.where(SCORE > 0, "no", "yes"),
    "three": np.digitize(SCORE, [-0.7, 0.7]) * 3 - 1,
    "three texts": np.array(["b", "c", "a"])[np.digitize(SCORE, [-0.7, 0.7])],
    "four": np.digitize(SCORE, [-1, 0, 1]),
    "one": np.full(160, 5),
}
TWO, MANY = ("two", "signs", "texts"), ("three", "three texts", "four")
ALL = (*TWO, *MANY)
DRAWN = {"random_state": 0}
EXPORTED = {
    "LogisticRegression": (LogisticRegression, ALL),
    "LinearSVC": (LinearSVC, ALL),
    "SGD": (partial(SGDClassifier, **DRAWN), ALL),
    "SGD, logistic": (partial(SGDClassifier, loss="log_loss", **DRAWN), TWO),
    "Perceptron": (Perceptron, ("signs", "three texts")),
    "Ridge": (RidgeClassifier, ("two", "three texts")),
    "LDA": (LinearDiscriminantAnalysis, ("texts", "four")),
    "QDA": (QuadraticDiscriminantAnalysis, ("texts", "three")),
    "SVC": (SVC, ALL),
    "SVC, linear": (partial(SVC, kernel="linear"), ALL),
    "SVC, polynomial": (partial(SVC, kernel="poly"), ALL),
    "SVC, sigmoid": (partial(SVC, kernel="sigmoid"), TWO),
    "NuSVC": (partial(NuSVC, nu=0.2), ALL),
    "SVC behind a scaler": (lambda: make_pipeline(StandardScaler(), SVC()), TWO),
    "SVC of a search": (lambda: GridSearchCV(SVC(), {"C": [1.0]}, cv=2), ("two", "three")),
    "GaussianNB": (GaussianNB, ("texts", "three", "one")),
    "MultinomialNB": (MultinomialNB, ("two", "three texts", "one")),
    "ComplementNB": (ComplementNB, ("two", "three texts")),
    "MLP": (partial(MLPClassifier, (4,), max_iter=20, **DRAWN), ("signs", "three texts", "one")),
    "one against the rest": (lambda: OneVsRestClassifier(LogisticRegression()), ("texts", "four")),
    "SVCs against the rest": (lambda: OneVsRestClassifier(SVC()), ("two", "three")),
    "one against one": (lambda: OneVsOneClassifier(LogisticRegression()), ("two", "four")),
    "machines against one another": (lambda: OneVsOneClassifier(LinearSVC()), ("two", "four")),
    "SVCs against one another": (lambda: OneVsOneClassifier(SVC(kernel="linear")), ("two", "four")),
    "calibrated": (lambda: CalibratedClassifierCV(LogisticRegression(), cv=2), ("texts",)),
    "calibrated SVC": (lambda: CalibratedClassifierCV(SVC(), cv=2), ("two",)),
    "bagging": (lambda: BaggingClassifier(LogisticRegression(), 3, **DRAWN), ("two", "three texts")),
    "stacking": (
        lambda: StackingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], LinearSVC(), cv=2),
        ("two", "three"),
    ),
    "tree": (partial(DecisionTreeClassifier, max_depth=3, **DRAWN), ("two", "texts", "four")),
    "forest": (partial(RandomForestClassifier, 3, max_depth=2, **DRAWN), ("texts", "three")),
    "boosting": (partial(GradientBoostingClassifier, n_estimators=2, max_depth=2, **DRAWN), ("signs", "three")),
    "histograms": (partial(HistGradientBoostingClassifier, max_iter=2, max_depth=2, **DRAWN), ("texts", "three")),
}  # fmt: skip


def of_onnxruntime(file, x):
    session = onnxruntime.InferenceSession(file.SerializeToString())
    return session.run(None, {file.graph.input[0].name: x})


def exported(estimator, classes, x, **options):
    """A fitted classifier as an ONNX file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = estimator().fit(x, CLASSES[classes])
        given = {} if isinstance(fitted, LinearSVC) else {id(fitted): {"zipmap": False, **options}}
        return to_onnx(fitted, x[:1], options=given, target_opset={"": 17, "ai.onnx.ml": 3})


def found_for(file, x, samples, **options):
    """Label, and scores where they can be computed, as the owner gets them."""
    if any("Tree" in node.op_type for node in file.graph.node):
        options = {"trees": "sign", "samples": samples, "gap": 2.0**-8, **options}
    shapes = {file.graph.input[0].name: (1, 4)}
    outputs = [value.name for value in file.graph.output]
    try:
        return lw.from_onnx(file, shapes, **options)(x)
    except UnsupportedError:  # scores of several SVCs, each against the rest, are compared
        if len([node for node in file.graph.node if node.op_type == "SVMClassifier"]) < 2:
            raise
        return (lw.from_onnx(file, shapes, outputs=outputs[:1], **options)(x),)


def test_so_many_graphs_are_compared():
    assert sum(len(kinds) for _, kinds in EXPORTED.values()) >= 86


@pytest.mark.parametrize("name", EXPORTED)
def test_classes_of_exported_classifiers_are_those_of_onnxruntime(name):
    estimator, kinds = EXPORTED[name]
    x, rows = (np.abs(X), np.abs(ROWS)) if "NB" in name else (X, ROWS)
    for classes in kinds:
        file = exported(estimator, classes, x)
        found, wanted = found_for(file, rows, x), of_onnxruntime(file, rows)
        assert np.array_equal(np.ravel(found[0]).astype(str), np.ravel(wanted[0]).astype(str)), classes
        if len(found) > 1:
            np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-3 if "trees" in name else 1e-4)


def test_a_zipped_classifier_names_the_same():
    for classes in ("texts", "three"):
        file = exported(LogisticRegression, classes, X, zipmap=True)
        (label, chances), wanted = lw.from_onnx(file, {"X": (1, 4)})(ROWS), of_onnxruntime(file, ROWS)
        assert label.tolist() == wanted[0].tolist() and [list(row) for row in chances] == [list(r) for r in wanted[1]]
        assert max(abs(a[name] - b[name]) for a, b in zip(chances, wanted[1], strict=True) for name in a) < 1e-6


def test_the_class_of_a_vote_needs_no_probabilities():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for classes in ("texts", "three"):
            file = exported(partial(SVC, probability=True, **DRAWN), classes, X)
            wanted = of_onnxruntime(file, ROWS)[0]
            with pytest.raises(UnsupportedError, match=r"leave them out with outputs=\[...\], naming the class"):
                lw.from_onnx(file, {"X": (1, 4)})
            assert lw.from_onnx(file, {"X": (1, 4)}, outputs=["label"])(ROWS).tolist() == wanted.tolist()


LABELS = {1: [7], 2: [7, 3], 3: [5, 9, 1], "two texts": ["no", "yes"], "three texts": ["b", "c", "a"]}
TIES = np.concatenate([np.zeros((3, 3), np.float32), RNG.normal(size=(30, 3)).astype(np.float32)])


def classifier(operator, labels, **options):
    is_text = isinstance(labels[0], str)
    named = {"classlabels_strings" if is_text else "classlabels_ints": labels}
    node = helper.make_node(operator, ["x"], ["label", "scores"], domain="ai.onnx.ml", **named, **options)
    types = {"label": TensorProto.STRING if is_text else TensorProto.INT64}
    return onnx_graphs.model([node], {"x": ["N", 3]}, ["label", "scores"], ml=3, types=types)


def linear(labels, scores, post):
    weights = RNG.normal(size=3 * scores).tolist()
    return classifier("LinearClassifier", labels, coefficients=weights, intercepts=[0.0] * scores, post_transform=post)


def machine(labels, post, *, vectors, positive=False):
    count, pairs = len(labels), len(labels) * (len(labels) - 1) // 2
    weights = RNG.normal(size=(count - 1) * count * 2 if vectors else count * 3)
    given = (
        {"vectors_per_class": [2] * count, "support_vectors": RNG.normal(size=6 * count).tolist()} if vectors else {}
    )
    return classifier(
        "SVMClassifier", labels, coefficients=(abs(weights) if positive else weights).tolist(), kernel_type="LINEAR",
        kernel_params=[0.0] * 3, rho=[0.0] * (pairs if vectors else 1), post_transform=post, **given,
    )  # fmt: skip


POSTS = ("NONE", "LOGISTIC", "SOFTMAX")
WRITTEN = {
    f"{kind}, {labels}, {post}": make(post)
    for post in POSTS
    for labels in LABELS
    for kind, make in {
        "one score": lambda post, names=LABELS[labels]: linear(names, 1, post) if len(names) == 2 else None,
        "a score each": lambda post, names=LABELS[labels]: linear(names, len(names), post) if len(names) > 1 else None,
        "comparisons": lambda post, names=LABELS[labels]: machine(names, post, vectors=True) if len(names) > 1 else None,
        "positive": lambda post, names=LABELS[labels]: machine(names, post, vectors=True, positive=True) if len(names) > 1 else None,
        "no vectors": lambda post, names=LABELS[labels]: machine(names, post, vectors=False) if len(names) > 2 else None,
    }.items()
    if make(post) is not None
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_both_results_of_a_node_are_those_of_onnxruntime_on_ties_too(name):
    file = WRITTEN[name]
    wanted = of_onnxruntime(file, TIES)
    label = lw.from_onnx(file, {"x": (1, 3)}, outputs=["label"])(TIES)
    assert label.tolist() == wanted[0].tolist()
    if np.shape(wanted[1])[1] == 2 and "SOFTMAX" in name and not name.startswith("a score each"):
        with pytest.raises(UnsupportedError, match="post_transform=SOFTMAX; NONE, LOGISTIC can be taken here"):
            lw.from_onnx(file, {"x": (1, 3)}, outputs=["scores"])
        return
    both = lw.from_onnx(file, {"x": (1, 3)})(TIES)
    assert both[0].tolist() == wanted[0].tolist()
    np.testing.assert_allclose(both[1], wanted[1], rtol=1e-4, atol=1e-5)
    scores = lw.from_onnx(file, {"x": (1, 3)}, outputs=["scores"])(TIES)
    np.testing.assert_allclose(scores, wanted[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("file", [
    linear([7], 1, "NONE"), machine([7, 3], "NONE", vectors=False), machine([7], "NONE", vectors=False),
], ids=["one class", "two without vectors", "one class without vectors"])  # fmt: skip
def test_a_class_that_runtimes_do_not_agree_on_is_refused(file):
    with pytest.raises(UnsupportedError, match=r"runtimes compute different classes .* outputs=\[...\]"):
        lw.from_onnx(file, {"x": (1, 3)}, outputs=["label"])
    scores = lw.from_onnx(file, {"x": (1, 3)}, outputs=["scores"])(TIES)
    assert len(scores) == len(TIES)


def test_a_machine_whose_lists_do_not_fit_is_refused():
    for wrong in ({"vectors_per_class": [2, 2, 0]}, {"vectors_per_class": [5, -1]}, {"vectors_per_class": [4]}):
        file = machine([7, 3], "NONE", vectors=True)
        node = file.graph.node[0]
        node.attribute.remove(next(a for a in node.attribute if a.name == "vectors_per_class"))
        node.attribute.append(helper.make_attribute("vectors_per_class", wrong["vectors_per_class"]))
        with pytest.raises(ShapeError, match=r"vectors_per_class=.* for 2 classes; there are to be 2"):
            lw.from_onnx(file, {"x": (1, 3)})


W = numpy_helper.from_array(np.eye(3, dtype=np.float32) * 2, "w")


def cast_graph(*nodes, kind=TensorProto.FLOAT, made=TensorProto.FLOAT):
    return onnx_graphs.model(list(nodes), {"x": ["N", 3]}, ["y"], [W], ml=3, types={"x": kind, "y": made})


node = helper.make_node
SCORES = node("MatMul", ["x", "w"], ["s"])
LARGEST = (SCORES, node("ArgMax", ["s"], ["a"], axis=1, keepdims=0))


def scaled(*casts):
    """Casts before a Scaler, which is the owner's."""
    last = casts[-1].output[0] if casts else "x"
    return *casts, node("Scaler", [last], ["z"], domain="ai.onnx.ml", scale=[0.5], offset=[1.0]), node("MatMul", ["z", "w"], ["y"])  # fmt: skip


@pytest.mark.parametrize(("file", "taken"), [
    (cast_graph(SCORES, node("Softmax", ["s"], ["p"]), node("Cast", ["p"], ["y"], to=7), made=7), False),
    (cast_graph(SCORES, node("Softmax", ["s"], ["p"]), node("Cast", ["p"], ["y"], to=9), made=9), False),
    (cast_graph(SCORES, node("Softmax", ["s"], ["p"]), node("Cast", ["p"], ["y"], to=11), made=11), True),
    (cast_graph(*LARGEST, node("Cast", ["a"], ["y"], to=6), made=6), True),
    (cast_graph(*LARGEST, node("Cast", ["a"], ["y"], to=1), made=1), True),
    (cast_graph(*LARGEST, node("Cast", ["a"], ["y"], to=9), made=9), False),
    (cast_graph(*LARGEST, node("Cast", ["a"], ["y"], to=8), made=8), False),
    (cast_graph(*scaled(node("Cast", ["x"], ["i"], to=7), node("Cast", ["i"], ["f"], to=1))), False),
    (cast_graph(*scaled(node("Cast", ["x"], ["i"], to=7), node("Cast", ["i"], ["f"], to=1)), kind=6), True),
    (cast_graph(*scaled(node("Cast", ["x"], ["f"], to=1)), kind=7), True),
])  # fmt: skip
def test_a_cast_changes_nothing_or_is_refused(file, taken):
    """Casts of numbers to whole ones cut off, and those of classes to truth values and texts make others of them."""
    kind = helper.tensor_dtype_to_np_dtype(file.graph.input[0].type.tensor_type.elem_type)
    x = (RNG.normal(size=(6, 3)) * 3).astype(kind)
    if not taken:
        with pytest.raises(UnsupportedError, match="outputs=|not supported"):
            lw.from_onnx(file, {"x": (1, 3)})
        return
    np.testing.assert_allclose(lw.from_onnx(file, {"x": (1, 3)})(x), of_onnxruntime(file, x)[0], rtol=1e-5)


@pytest.mark.parametrize("classes", ["texts", "three texts"])
def test_encrypted_classes_are_the_same_and_certain(classes):
    file = exported(partial(SVC, kernel="linear"), classes, X)
    model = lw.compile(
        lw.from_onnx(file, {"X": (1, 4)}, outputs=["label"]), calibrate=X, ring_degree=1024, insecure=True,
        precision_bits=10,
    )  # fmt: skip
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(ROWS[:8])))
    wanted = of_onnxruntime(file, ROWS[:8])[0]
    sure = np.ravel(found.is_certain) if np.ndim(found.is_certain) else np.full(8, found.is_certain)
    assert sure.any() and np.array_equal(np.ravel(found.reveal())[sure], wanted[sure])

"""Ends of models that exporters write out in many nodes: votes, logarithms of chances, signs, depths of leaves."""

import warnings

import numpy as np
import onnx_graphs
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from sklearn.ensemble import IsolationForest
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC, OneClassSVM

import latticework as lw
from latticework.errors import UnsupportedError

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 3)).astype(np.float32)
Y = np.digitize(X @ [1, -1, 0.5], [-0.6, 0.6])
ROWS = RNG.normal(size=(40, 3)).astype(np.float32)
SHAPE = {"X": (1, 3)}


def exported(fitted):
    options = {id(fitted): {"zipmap": False}} if hasattr(fitted, "classes_") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return to_onnx(fitted, X[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3})


def of_onnxruntime(file, rows):
    return onnxruntime.InferenceSession(file.SerializeToString()).run(None, {"X": rows})


def operators_of_owner(program):
    return {note.split(" computes ")[1].split(" (")[0].split(" after")[0] for note in program.notes if "owner" in note}


def constant(file, name):
    return next(array for array in file.graph.initializer if array.name == name)


@pytest.fixture(scope="module")
def votes():
    """Three classes, of which each comparison gives a vote and less than a third of one."""
    return exported(SVC(decision_function_shape="ovr").fit(X, Y))


def test_votes_are_one_step_of_the_owner_and_errors_of_scores_are_seen(votes):
    program = lw.from_onnx(votes, SHAPE)
    assert "votes of comparisons written out" in operators_of_owner(program)
    assert program.output_shapes == {"result": (1, 3)}  # scores of pairs are what the server returns
    model = lw.compile(program, calibrate=X, ring_degree=2048, insecure=True, precision_bits=10)
    client = model.client()
    label, scores = client.decrypt(model.server(client.keygen().public())(client.encrypt(ROWS[:3])))
    wanted = of_onnxruntime(votes, ROWS[:3])
    assert np.ravel(label.reveal())[label.is_certain.ravel()].tolist() == wanted[0][label.is_certain.ravel()].tolist()
    assert (np.abs(scores.reveal() - wanted[1]) <= scores.error_bounds + 1e-6).all()


@pytest.mark.parametrize(("name", "value"), [("cst3", 2.0), ("cst1", 0.5), ("cst0", 0.25), ("Cind_1", 2)])
def test_nodes_that_are_no_such_votes_are_refused(votes, name, value):
    """One constant of the file is another: a third, the 1 beside a score, the threshold, the place of a score."""
    file = type(votes)()
    file.CopyFrom(votes)
    array = constant(file, name)
    kind = helper.tensor_dtype_to_np_dtype(array.data_type)
    array.CopyFrom(helper.make_tensor(name, array.data_type, list(array.dims), [kind.type(value)]))
    with pytest.raises(UnsupportedError, match="votes of comparisons that other nodes go on with"):
        lw.from_onnx(file, SHAPE)


def graph_of_votes(score, *, second_wins_ties, turned):
    """Comparisons of a linear classifier's three scores, with the rule for ties, and signs, that are asked for."""
    node = helper.make_node
    compare = "LessOrEqual" if second_wins_ties else "Less"
    nodes = [
        node("LinearClassifier", ["X"], ["label", "raw"], domain="ai.onnx.ml", coefficients=np.eye(3).ravel().tolist(),
             intercepts=[0.0] * 3, classlabels_ints=[0, 1, 2], post_transform="NONE"),
        *([node("Neg", ["raw"], ["s"])] if turned else [node("Identity", ["raw"], ["s"])]),
        node(compare, ["s", "zero"], ["lost"]), node("Cast", ["lost"], ["second"], to=1),
        node("Sub", ["one", "second"], ["first"]), node("Neg", ["s"], ["minus"]),
    ]  # fmt: skip
    pairs = [(0, 1), (0, 2), (1, 2)]
    for what, (by_first, by_second) in {"won": ("first", "second"), "sure": ("s", "minus")}.items():
        sums = []
        for k in range(3):
            parts = []
            for number, pair in enumerate(pairs):
                if k in pair:
                    parts.append(f"{what}{k}{number}")
                    source = by_first if pair[0] == k else by_second
                    nodes.append(
                        node("ArrayFeatureExtractor", [source, f"at{number}"], parts[-1:], domain="ai.onnx.ml")
                    )
            nodes.append(node("Sum", parts, [f"{what}{k}"]))
            sums.append(f"{what}{k}")
        nodes.append(node("Concat", sums, [what], axis=1))
    nodes += [
        node("Abs", ["sure"], ["size"]), node("Add", ["size", "one"], ["more"]), node("Mul", ["more", "three"], ["below"]),
        node("Div", ["sure", "below"], ["grade"]), node("Add", ["won", "grade"], [score]),
    ]  # fmt: skip
    arrays = [
        helper.make_tensor(name, TensorProto.FLOAT, [1], [value])
        for name, value in {"zero": 0.0, "one": 1.0, "three": 3.0}.items()
    ] + [helper.make_tensor(f"at{k}", TensorProto.INT64, [1], [k]) for k in range(3)]
    return onnx_graphs.model(nodes, {"X": ["N", 3]}, [score], arrays, ml=3)


@pytest.mark.parametrize("second_wins_ties", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_comparisons_of_0_are_won_by_whom_the_file_says(second_wins_ties, turned):
    file = graph_of_votes("votes", second_wins_ties=second_wins_ties, turned=turned)
    rows = np.concatenate([ROWS[:5], np.zeros((1, 3)), ROWS[:3] * [0, 1, 0]]).astype(np.float32)
    np.testing.assert_allclose(lw.from_onnx(file, SHAPE)(rows), of_onnxruntime(file, rows)[0], atol=1e-6)


def test_the_server_of_one_against_one_returns_scores_of_pairs_alone():
    for fitted in (OneVsOneClassifier(LinearSVC()).fit(X, Y), OneVsOneClassifier(SVC(kernel="linear")).fit(X, Y)):
        program = lw.from_onnx(exported(fitted), SHAPE)
        assert {"votes of comparisons written out", "ArgMax"} <= operators_of_owner(program)
        model = lw.compile(program, calibrate=X, ring_degree=2048, insecure=True)
        assert np.ravel(model.simulate(ROWS)[0]).tolist() == fitted.predict(ROWS).tolist()


def test_chances_of_naive_bayes_cost_no_exponential_on_the_server():
    fitted = GaussianNB().fit(X, Y)
    program = lw.from_onnx(exported(fitted), SHAPE)
    assert "softmax written out" in operators_of_owner(program)
    model = lw.compile(program, calibrate=X, ring_degree=2048, insecure=True)
    assert model.report().level_use.spent <= 2
    np.testing.assert_allclose(model.simulate(ROWS)[1].reshape(-1, 3), fitted.predict_proba(ROWS), atol=1e-3)


def test_a_sign_is_the_owners_and_of_0_it_is_0():
    fitted = OneClassSVM(nu=0.2).fit(X)
    program = lw.from_onnx(exported(fitted), SHAPE)
    label, scores = program(ROWS)
    wanted = of_onnxruntime(exported(fitted), ROWS)
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, wanted[0])
    np.testing.assert_allclose(scores, wanted[1], atol=1e-5)
    file = onnx_graphs.model(
        [helper.make_node("MatMul", ["X", "w"], ["s"]), helper.make_node("Sign", ["s"], ["side"])],
        {"X": ["N", 3]}, ["side"], [helper.make_tensor("w", TensorProto.FLOAT, [3, 2], [1, 1, 0, 0, 1, -1])],
    )  # fmt: skip
    rows = np.array([[0, 0, 0], [1, 9, -1], [2, 0, -3], [-2, 5, -3]], np.float32)
    program = lw.from_onnx(file, SHAPE)
    np.testing.assert_array_equal(program(rows), of_onnxruntime(file, rows)[0])
    model = lw.compile(program, calibrate=rows, ring_degree=2048, insecure=True)
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(rows[1:3])))
    assert found.is_certain.tolist() == [[False, True], [True, True]]


@pytest.fixture(scope="module")
def isolation():
    return exported(IsolationForest(n_estimators=5, max_samples=32, random_state=0).fit(X))


def test_path_lengths_are_values_of_leaves_of_one_ensemble(isolation):
    program = lw.from_onnx(isolation, SHAPE, trees="sign", samples=X, gap=2.0**-8)
    trees = [node for node in program.graph.nodes if "TreeEnsemble" in node.operator]
    assert len(trees) == 1
    rows = ROWS[program.keeps_apart(ROWS)]
    label, scores = program(rows)
    wanted = of_onnxruntime(isolation, rows)
    np.testing.assert_array_equal(label, wanted[0])
    np.testing.assert_allclose(scores, wanted[1], atol=1e-6)
    assert {-1, 1} == set(np.ravel(wanted[0]).tolist())


def test_such_a_forest_is_computed_exactly_on_digits_too(isolation):
    circuit = lw.from_onnx(isolation, SHAPE, trees="exact", samples=X, digits=12)
    rows = X[circuit.keeps_apart(X)][:8]
    found = circuit.finished([circuit(row) for row in circuit.encoded(rows)])
    np.testing.assert_array_equal(np.ravel(found[0]), np.ravel(of_onnxruntime(isolation, rows)[0]))


def altered_encoder(isolation, change):
    file = type(isolation)()
    file.CopyFrom(isolation)
    node = next(node for node in file.graph.node if node.op_type == "LabelEncoder")
    change({attribute.name: attribute for attribute in node.attribute})
    return file


@pytest.mark.parametrize(("change", "words"), [
    (lambda a: a["keys_int64s"].ints.append(99), "11 keys and 10 values|keys and . values|there are to be as many"),
    (lambda a: a["keys_int64s"].ints.__setitem__(0, a["keys_int64s"].ints[1]), "a key of it stands twice"),
])  # fmt: skip
def test_tables_of_leaves_that_were_altered_are_refused(isolation, change, words):
    with pytest.raises(lw.UserError, match=words):
        lw.from_onnx(altered_encoder(isolation, change), SHAPE, trees="sign", samples=X, gap=2.0**-8)


def test_a_leaf_without_a_key_gets_what_the_file_says_of_others(isolation):
    def forget(attributes):
        for name, values in (("keys_int64s", "ints"), ("values_floats", "floats")):
            del getattr(attributes[name], values)[0]

    file = altered_encoder(isolation, forget)
    file.graph.node[[n.op_type for n in file.graph.node].index("LabelEncoder")].attribute.append(
        helper.make_attribute("default_float", 7.0)
    )
    program = lw.from_onnx(file, SHAPE, trees="sign", samples=X, gap=2.0**-8)
    rows = ROWS[program.keeps_apart(ROWS)]
    np.testing.assert_allclose(program(rows)[1], of_onnxruntime(file, rows)[1], atol=1e-6)

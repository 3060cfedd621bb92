"""lw.from_onnx: models against ONNX's own evaluator, in NumPy and encrypted; parts, shapes, places and refusals."""

import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import array, convolutional, model, perceptron, reference

import latticework as lw
from latticework.errors import DtypeError, FormatError, RangeError, ShapeError, TraceError, UnsupportedError, UserError

node = helper.make_node


def affine(**more):
    return model([node("Mul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["y"])], {"x": [1, 3]}, ["y"],
                 [array("w", np.arange(3.0)), array("b", np.ones(3))], **more)  # fmt: skip


def encrypted(program, *arrays, calibrate):
    compiled = lw.compile(program, calibrate=calibrate, ring_degree=4096, insecure=True)
    client = compiled.client()
    return client.decrypt(compiled.server(client.keygen().public())(client.encrypt(*arrays)))


@pytest.mark.parametrize(("make", "shape"), [(perceptron, (1, 6)), (convolutional, (1, 2, 8, 8))])
def test_a_model_computes_in_numpy_and_encrypted_what_onnx_says(make, shape) -> None:
    rng = np.random.default_rng(1)
    given = make(rng)
    x = rng.uniform(-1, 1, size=shape)
    program = lw.from_onnx(given.SerializeToString(), {"N": 1})
    (wanted,) = reference(given, x)
    np.testing.assert_allclose(program(x), wanted, atol=1e-5)
    y = encrypted(program, x, calibrate=rng.uniform(-1, 1, size=(20, *shape[1:])))
    assert np.all(np.abs(y.reveal() - program(x)) <= y.error_bound) and np.all(y.error_bound < 1e-2)


def test_a_file_a_model_and_bytes_are_the_same(tmp_path) -> None:
    given = affine()
    onnx.save(given, tmp_path / "net.onnx")
    x = np.arange(3.0)[None]
    for source in (given, given.SerializeToString(), tmp_path / "net.onnx", str(tmp_path / "net.onnx")):
        np.testing.assert_allclose(lw.from_onnx(source)(x), x**2 + 1)


def test_places_are_nodes_of_the_file(tmp_path) -> None:
    onnx.save(convolutional(np.random.default_rng(0)), tmp_path / "net.onnx")
    program = lw.from_onnx(tmp_path / "net.onnx", {"N": 1})
    first = program.graph.nodes[0].loc
    assert (first.file, first.line, first.text) == ("net.onnx", 1, "Conv /layer1/conv")


def test_parts_of_a_graph_are_cut_out_by_names() -> None:
    given = perceptron(np.random.default_rng(0), 1)
    x = np.linspace(-1, 1, 6)[None]
    whole = lw.from_onnx(given)
    head = lw.from_onnx(given, outputs=["h"])
    tail = lw.from_onnx(given, {"h": (1, 5)}, inputs=["h"])
    np.testing.assert_allclose(tail(head(x)), whole(x))
    both = lw.from_onnx(given, outputs=["y", "h"])(x)
    np.testing.assert_allclose(both[1], head(x))


def test_several_secrets_go_in_and_weights_that_are_inputs_are_weights() -> None:
    given = model([node("MatMul", ["a", "b"], ["m"]), node("Add", ["m", "w"], ["y"]), node("Neg", ["a"], ["z"])],
                  {"a": [2, 3], "b": [3, 2], "w": [2]}, ["y", "z"], [array("w", np.array([1.0, 2.0]))])  # fmt: skip
    program = lw.from_onnx(given)
    assert list(program.signature.parameters) == ["a", "b"]
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    y, z = program(a, b)
    np.testing.assert_allclose(y, a @ b + [1, 2])
    np.testing.assert_allclose(z, -a)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (None, r"input x has shape \(N, 6\), of which N is free"),
        ({"N": 0}, "N 0"),
        ({"M": 3}, "'M', which is no input and no dimension of one; there are N, x"),
        ({"x": (1, 7)}, r"shapes \(1, 7\) and \(6, 5\) do not fit"),
        ({"x": (1,)}, "1 axes, the file 2"),
        ({"x": "ab"}, "whole numbers"),
        ({"N": 2, "x": (1, 6)}, r"gives x \(1, 6\), and N=2 beside"),
        ({"N": 2**60}, "whole number"),
        ({"x": (2**40, 6)}, "elements"),
    ],
)
def test_shapes_that_are_free_or_wrong_are_told(shapes, said) -> None:
    with pytest.raises(ShapeError, match=said):
        lw.from_onnx(perceptron(np.random.default_rng(0)), shapes)


def test_operators_that_have_no_meaning_are_told_with_a_way_out() -> None:
    given = model([node("Hardmax", ["x"], ["h"], name="pick"), node("ArgMax", ["x"], ["a"])], {"x": [1, 4]}, ["h", "a"],
                  types={"a": TensorProto.INT64})  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"model.onnx:1: Hardmax pick: which one is ahead.*outputs="):
        lw.from_onnx(given, outputs=["h"])
    with pytest.raises(UnsupportedError, match=r"model.onnx:2: ArgMax.*outputs=\['x'\]"):
        lw.from_onnx(given, outputs=["a"])


def test_what_is_whole_is_public_or_read_as_real() -> None:
    take = model(
        [node("Gather", ["x", "i"], ["y"], axis=1)], {"x": [2, 5], "i": [2]}, ["y"], types={"i": TensorProto.INT64}
    )
    with pytest.raises(DtypeError, match=r"input i is of int64.*public=\{'i'"):
        lw.from_onnx(take)
    program = lw.from_onnx(take, public={"i": np.array([4, 0])})
    assert program(np.arange(10.0).reshape(2, 5)).tolist() == [[4, 0], [9, 5]]
    picture = model([node("Cast", ["x"], ["f"], to=1), node("Mul", ["f", "w"], ["y"])], {"x": [2]}, ["y"],
                    [array("w", np.array(0.5))], types={"x": TensorProto.UINT8})  # fmt: skip
    program = lw.from_onnx(picture)
    assert program(np.array([4.0, 200.0])).tolist() == [2.0, 100.0]
    assert program.notes == ("inputs of whole numbers are taken as real ones",)


def test_functions_of_the_file_are_unfolded() -> None:
    body = helper.make_function("own", "Scale", ["x"], ["y"], [
        node("Constant", [], ["two"], value_float=2.0), node("Mul", ["x", "two"], ["m"]),
        onnx.helper.make_node("LeakyRelu", ["m"], ["y"])], [helper.make_opsetid("", 17)], ["alpha"])  # fmt: skip
    reference_to = body.node[2].attribute.add()
    reference_to.name, reference_to.ref_attr_name, reference_to.type = "alpha", "alpha", onnx.AttributeProto.FLOAT
    given = model([node("Scale", ["x"], ["h"], domain="own", alpha=0.5), node("Scale", ["h"], ["y"], domain="own", alpha=0.1)],
                  {"x": [3]}, ["y"], functions=[body])  # fmt: skip
    x = np.array([-1.0, 0.5, 2.0])
    np.testing.assert_allclose(lw.from_onnx(given)(x), [-4 * 0.5 * np.float32(0.1), 2.0, 8.0], rtol=1e-6)


def test_branches_and_loops_that_are_public_are_carried_out() -> None:
    scalar = helper.make_tensor_value_info
    then = helper.make_graph([node("Mul", ["x", "two"], ["t"])], "then", [], [scalar("t", 1, None)])
    other = helper.make_graph([node("Hardmax", ["x"], ["e"])], "else", [], [scalar("e", 1, None)])
    body = helper.make_graph(
        [node("Identity", ["going"], ["on"]), node("Add", ["total", "t0"], ["next"]), node("Mul", ["total", "two"], ["kept"])],
        "body", [scalar("i", 7, []), scalar("going", 9, []), scalar("total", 1, None)],
        [scalar("on", 9, []), scalar("next", 1, None), scalar("kept", 1, None)],
    )  # fmt: skip
    given = model(
        [node("If", ["c"], ["t0"], then_branch=then, else_branch=other), node("Loop", ["n", "c", "x"], ["y", "all"], body=body)],
        {"x": [3]}, ["y", "all"],
        [array("two", np.array(2.0)), numpy_helper.from_array(np.array(True), "c"), array("n", np.array(3))],
    )  # fmt: skip
    x = np.array([1.0, -2.0, 3.0])
    y, kept = lw.from_onnx(given)(x)
    for have, want in zip((y, kept), reference(given, x), strict=True):
        np.testing.assert_allclose(have, want)


def test_branches_on_secrets_are_refused() -> None:
    scalar = helper.make_tensor_value_info
    then = helper.make_graph([node("Neg", ["x"], ["t"])], "then", [], [scalar("t", 1, None)])
    other = helper.make_graph([node("Abs", ["x"], ["e"])], "else", [], [scalar("e", 1, None)])
    given = model([node("ReduceSum", ["x"], ["s"], keepdims=0), node("If", ["s"], ["y"], then_branch=then, else_branch=other)],
                  {"x": [3]}, ["y"])  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"model.onnx:2: If: the condition is secret.*lw.where"):
        lw.from_onnx(given)


def test_halves_are_restored_and_what_is_no_number_is_refused_by_name() -> None:
    def with_weight(tensor):
        return model([node("Mul", ["x", "w"], ["y"])], {"x": [2]}, ["y"], [tensor])

    half = numpy_helper.from_array(np.array([0.5, 3.0], np.float16), "w")
    program = lw.from_onnx(with_weight(half))
    assert program(np.ones(2)).tolist() == [0.5, 3.0] and "16 bits" in program.notes[0]
    for values, kind, said in (
        (np.array([1.0, np.nan], np.float32), RangeError, "w holds NaN"),
        (np.array([1j, 2]), DtypeError, "w is of complex numbers"),
    ):
        with pytest.raises(kind, match=said):
            lw.from_onnx(with_weight(numpy_helper.from_array(values, "w")))


def test_training_is_refused() -> None:
    given = model([node("BatchNormalization", ["x", "s", "s", "s", "s"], ["y"], training_mode=1)], {"x": [1, 2, 3]}, ["y"],
                  [array("s", np.ones(2))])  # fmt: skip
    with pytest.raises(UserError, match="BatchNormalization"):
        lw.from_onnx(given)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"outputs": ["nothing"]}, "outputs names 'nothing'"),
        ({"inputs": ["m"], "outputs": ["x"]}, "x"),
        ({"outputs": ["w"]}, "no output depends on an input"),
        ({"inputs": ["w"]}, "need x too"),
    ],
)
def test_parts_that_are_none_are_refused(options, said) -> None:
    with pytest.raises(UserError, match=said):
        lw.from_onnx(affine(), **options)


def test_an_output_without_a_secret_is_refused() -> None:
    given = model([node("Neg", ["x"], ["y"]), node("Shape", ["x"], ["s"])], {"x": [3]}, ["y", "s"])
    with pytest.raises(TraceError, match="output s depends on no input"):
        lw.from_onnx(given)


@pytest.mark.parametrize("version", [5, 99])
def test_versions_that_are_not_known_are_refused(version) -> None:
    with pytest.raises(FormatError, match=f"version {version}; known are"):
        lw.from_onnx(affine(opset=version))


def test_nothing_of_the_package_is_loaded_before_it_is_used(start_python) -> None:
    told, _ = start_python("import sys, latticework; latticework.from_onnx; print('onnx' in sys.modules)").communicate()
    assert told.strip() == "False"


def test_a_missing_package_is_told(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(lw.errors.MissingPackageError, match=r"pip install latticework\[onnx\]"):
        lw.from_onnx(b"")


def quantised_net(rng):
    """Quantised as runtimes do it: pairs of QuantizeLinear and DequantizeLinear, a relu taken in by a zero point of 0."""
    w = np.clip(np.round(rng.normal(size=(4, 3)) * 40), -128, 127).astype(np.int8)
    arrays = [array("w", w), array("ws", np.array(0.01)), array("wz", np.array(0, np.int8)), array("xs", np.array(0.02)),
              array("xz", np.array(128, np.uint8)), array("hs", np.array(0.03)), array("hz", np.array(0, np.uint8))]  # fmt: skip
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), node("DequantizeLinear", ["xq", "xs", "xz"], ["xr"]),
             node("DequantizeLinear", ["w", "ws", "wz"], ["wr"]), node("MatMul", ["xr", "wr"], ["m"]),
             node("QuantizeLinear", ["m", "hs", "hz"], ["mq"]), node("DequantizeLinear", ["mq", "hs", "hz"], ["y"])]  # fmt: skip
    return model(nodes, {"x": [1, 4]}, ["y"], arrays, opset=19), w * 0.01


def test_quantised_models_are_restored_and_say_so() -> None:
    rng = np.random.default_rng(5)
    given, weights = quantised_net(rng)
    program = lw.from_onnx(given)
    assert "restored to numbers" in program.notes[0]
    x = rng.uniform(-2, 2, size=(1, 4))
    np.testing.assert_allclose(program(x), np.maximum(x @ weights, 0))
    np.testing.assert_allclose(program(x), reference(given, x)[0], atol=0.06)
    compiled = lw.compile(program, calibrate=rng.uniform(-2, 2, size=(50, 4)), ring_degree=4096, insecure=True)
    np.testing.assert_allclose(compiled.simulate(x)[0], program(x), atol=0.01)


def test_values_quantised_by_what_they_are_stay_as_they_are() -> None:
    rng = np.random.default_rng(6)
    w = rng.integers(-100, 100, size=(4, 3)).astype(np.int8)
    given = model(
        [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("MatMulInteger", ["q", "w", "z"], ["m"]),
         node("Cast", ["m"], ["f"], to=1), node("Mul", ["s", "ws"], ["scale"]), node("Mul", ["f", "scale"], ["y"])],
        {"x": [2, 4]}, ["y"], [array("w", w), array("ws", np.array(0.01))],
    )  # fmt: skip
    x = rng.uniform(-2, 2, size=(2, 4))
    np.testing.assert_allclose(lw.from_onnx(given)(x), x @ (w * 0.01), rtol=1e-6)
    np.testing.assert_allclose(lw.from_onnx(given)(x), reference(given, x)[0], atol=0.1)


def test_a_classifier_of_ai_onnx_ml_ends_at_the_owner() -> None:
    rng = np.random.default_rng(7)
    w = rng.normal(size=12).astype(np.float32)
    given = model(
        [node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[1.0] * 4, scale=[0.5] * 4),
         node("LinearClassifier", ["s"], ["label", "p"], domain="ai.onnx.ml", coefficients=w.tolist(), intercepts=[0.1, 0.2, 0.3],
              classlabels_ints=[0, 1, 2], post_transform="SOFTMAX"),
         node("ZipMap", ["p"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2])],
        {"x": [1, 4]}, ["label", "z"], ml=3,
    )  # fmt: skip
    x = rng.normal(size=(1, 4))
    found = lw.from_onnx(given, outputs=["p"])(x)
    scores = (x - 1) * 0.5 @ w.reshape(3, 4).astype(float).T + [0.1, 0.2, 0.3]
    chances = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(found, chances, rtol=1e-5)
    labels, named = lw.from_onnx(given)(x)
    assert labels.tolist() == [int(np.argmax(scores))] and list(named[0]) == [0, 1, 2]
    np.testing.assert_allclose(list(named[0].values()), chances[0], rtol=1e-5)


def test_categories_are_mapped_by_the_owner_both_ways() -> None:
    """A CategoryMapper makes numbers of names before encryption, and names of numbers after decryption."""
    kinds = {"cats_int64s": [0, 1, 2], "cats_strings": ["red", "green", "blue"]}
    given = model(
        [node("CategoryMapper", ["x"], ["n"], domain="ai.onnx.ml", **kinds), node("Cast", ["n"], ["f"], to=1),
         node("MatMul", ["f", "w"], ["s"]), node("ArgMax", ["s"], ["a"], axis=1, keepdims=0),
         node("CategoryMapper", ["a"], ["y"], domain="ai.onnx.ml", **kinds)],
        {"x": [1, 1]}, ["s", "y"], [array("w", np.array([[1.0, -1.0, 0.5]]))], ml=3,
        types={"x": TensorProto.STRING, "y": TensorProto.STRING},
    )  # fmt: skip
    program = lw.from_onnx(given)
    scores, names = program(np.array([["blue"]], dtype=object))
    assert scores.tolist() == [[2.0, -2.0, 1.0]] and names.tolist() == ["red"]
    with pytest.raises(UnsupportedError, match=r"CategoryMapper.*outputs=\['s'\]"):
        lw.from_onnx(model([node("Mul", ["x", "x"], ["s"]),
                            node("CategoryMapper", ["s"], ["y"], domain="ai.onnx.ml", cats_int64s=[0, 2], cats_strings=["a", "b"])],
                           {"x": [1, 1]}, ["y"], ml=3))  # fmt: skip


def test_numbers_far_below_scores_leave_them_out_of_a_softmax() -> None:
    mask = np.array([[0.0, -3.4e38, 0.0, -1e9]], dtype=np.float32)
    given = model(
        [node("Add", ["x", "m"], ["s"]), node("Softmax", ["s"], ["y"], axis=-1)],
        {"x": [1, 4]},
        ["y"],
        [array("m", mask)],
    )
    program, x = lw.from_onnx(given), np.array([[0.5, 9.0, -0.25, 9.0]])
    np.testing.assert_allclose(program(x), reference(given, x)[0], atol=1e-6)
    compiled = lw.compile(program, calibrate=np.random.default_rng(0).uniform(-1, 1, (50, 4)), precision_bits=6)
    found = compiled.simulate(x.clip(-1, 1))
    np.testing.assert_allclose(np.ravel(found), np.ravel(program(x.clip(-1, 1))), atol=2.0**-6)


@pytest.mark.parametrize("masked", [False, True])
def test_secrets_are_nowhere_other_than_numbers(masked: bool) -> None:
    """Attention as PyTorch exports it: a softmax, and zeros where it is not a number."""
    softmax = node("Softmax", ["s" if masked else "x"], ["p"], axis=-1)
    given = model(
        [*([node("Where", ["keep", "x", "gone"], ["s"])] if masked else []), softmax, node("IsNaN", ["p"], ["nan"]),
         node("Where", ["nan", "zero", "p"], ["y"])],
        {"x": [2, 4]}, ["y"],
        [array("keep", np.array([True, False, True, True])), array("gone", np.float32(-np.inf)),
         array("zero", np.float32(0.0))],
    )  # fmt: skip
    x = np.random.default_rng(3).normal(size=(2, 4))
    program = lw.from_onnx(given)
    np.testing.assert_allclose(program(x), reference(given, x)[0], atol=1e-6)
    compiled = lw.compile(program, calibrate=np.random.default_rng(0).normal(size=(50, 2, 4)), precision_bits=6)
    np.testing.assert_allclose(compiled.simulate(x)[0], program(x), atol=2.0**-6)


def test_shapes_of_the_user_go_before_those_of_the_file() -> None:
    """Exporters fix extents that a graph does not need; what is done instead is told."""
    given = perceptron(np.random.default_rng(0), 1)
    x = np.random.default_rng(1).uniform(-1, 1, (3, 6))
    program = lw.from_onnx(given, {"x": (3, 6)})
    np.testing.assert_allclose(program(x), np.concatenate([lw.from_onnx(given)(row[None]) for row in x]), atol=1e-12)
    assert "x is taken as (3, 6), as shapes= says; the file declares (1, 6)" in program.notes
    assert not lw.from_onnx(given).notes


def linear_classifier(features):
    return model(
        [node("LinearClassifier", ["x"], ["", "y"], domain="ai.onnx.ml", classlabels_ints=[0, 1, 2],
              coefficients=list(np.arange(12.0)), intercepts=[1.0, 2.0, 3.0], post_transform="NONE")],
        {"x": [1, features]}, ["y"], ml=1,
    )  # fmt: skip


def test_a_file_that_declares_other_features_than_its_weights_have_is_refused_and_can_be_put_right() -> None:
    with pytest.raises(UserError, match="12 coefficients for 3 scores are of 4 features, and the input has 2"):
        lw.from_onnx(linear_classifier(2))
    x = np.array([[1.0, -1.0, 0.5, 2.0]])
    found = lw.from_onnx(linear_classifier(2), {"x": (1, 4)})(x)
    np.testing.assert_allclose(found, x @ np.arange(12.0).reshape(3, 4).T + [1, 2, 3])

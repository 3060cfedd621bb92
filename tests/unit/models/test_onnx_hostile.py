"""Damaged and hostile ONNX files: errors that say what is wrong, before time and memory are spent."""

import json
import os
import resource
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import array, model

import latticework as lw
from latticework.errors import FormatError, ShapeError, UserError

node = helper.make_node
HERE = Path(__file__).parents[2] / "cases"
FAR = 2**40


def mutants(start_python, first, count):
    script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import onnx_mutants; onnx_mutants.main({first}, {count})"
    told, faults = start_python(script).communicate()
    assert told, faults
    return json.loads(told)


def check_mutants(told, count) -> None:
    assert told["faults"] == [] and sum(told["counts"].values()) == count
    assert told["counts"]["FormatError"] > count / 4 and told["counts"]["imported"] > count / 50
    assert told["grown_mb"] < 200


def test_altered_files_are_refused_or_read(start_python) -> None:
    check_mutants(mutants(start_python, 0, 200), 200)


@pytest.mark.slow
def test_many_altered_files_are_refused_or_read(start_python) -> None:
    check_mutants(mutants(start_python, 200, 2000), 2000)


def one(operator, *arrays, shape=(1, 1, 4, 4), **options):
    """A model of one node that reads x and arrays."""
    names = [f"a{i}" for i in range(len(arrays))]
    return model([node(operator, ["x", *names], ["y"], **options)], {"x": shape}, ["y"],
                 [array(n, np.asarray(a)) for n, a in zip(names, arrays, strict=True)], opset=18)  # fmt: skip


WEIGHT = np.ones((1, 1, 2, 2))
LARGE = {
    "kernel": one("MaxPool", kernel_shape=[FAR, FAR]),
    "pads": one("MaxPool", kernel_shape=[2, 2], pads=[FAR] * 4),
    "averaged": one("AveragePool", kernel_shape=[2, 2], pads=[2**30] * 4, count_include_pad=1),
    "strides": one("ConvTranspose", WEIGHT, strides=[FAR, FAR]),
    "dilations": one("Conv", WEIGHT, dilations=[FAR, FAR], pads=[FAR] * 4),
    "output shape": one("ConvTranspose", WEIGHT, output_shape=[FAR, FAR]),
    "repeats": one("Tile", np.array([FAR] * 4)),
    "negative repeats": one("Tile", np.array([-1, 1, 1, 1])),
    "padding": one("Pad", np.array([FAR] * 8)),
    "expand": one("Expand", np.array([FAR, 1, 1, 1])),
    "resize": model(
        [node("Resize", ["x", "", "s"], ["y"])], {"x": [1, 1, 4, 4]}, ["y"], [array("s", np.array([1, 1, 1e9, 1e9]))]
    ),
    "gather": one("Gather", np.zeros((2**12, 2**12, 2), np.int64)),
    "space": one("DepthToSpace", blocksize=FAR),
    "outer": one("MatMul", np.ones((1, 2**21)), shape=(2**21, 1)),
    "stretched": one("Add", np.ones((2**21, 1)), shape=(1, 2**21)),
    "einsum": one("Einsum", np.ones(2**21), shape=(2**21,), equation="i,j->ij"),
    "rank": one("Reshape", np.array([1] * 100)),
    "input": model([node("Neg", ["x"], ["y"])], {"x": [2**60, 2**60]}, ["y"]),
}


@pytest.mark.parametrize("name", LARGE)
def test_results_too_large_are_refused_before_they_are_made(name) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError):
        lw.from_onnx(LARGE[name])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < (200 << 10) + 2 * LARGE[name].ByteSize() // 1024


def public_nodes(*nodes, arrays=()):
    """A model that adds a public value k to x."""
    return model([*nodes, node("Cast", ["k"], ["f"], to=1), node("ReduceSum", ["f"], ["s"], keepdims=0), node("Add", ["x", "s"], ["y"])],
                 {"x": [3]}, ["y"], arrays)  # fmt: skip


def doubling():
    parts = [node("Concat", [f"k{i}", f"k{i}"], [f"k{i + 1}" if i < 39 else "k"], axis=0) for i in range(40)]
    return public_nodes(*parts, arrays=[array("k0", np.ones(2))])


def repeated_public():
    """Many results of which each is small enough."""
    parts = [node("ConstantOfShape", ["n"], [f"k{i}"]) for i in range(40)]
    return public_nodes(
        *parts, node("Sum", [f"k{i}" for i in range(40)], ["k"]), arrays=[array("n", np.array([2**21]))]
    )


@pytest.mark.parametrize(
    "made",
    [
        doubling(),
        repeated_public(),
        public_nodes(node("ConstantOfShape", ["n"], ["k"]), arrays=[array("n", np.array([FAR, FAR]))]),
        public_nodes(
            node("Range", ["a", "b", "c"], ["k"]),
            arrays=[array("a", np.array(0)), array("b", np.array(2**60)), array("c", np.array(1))],
        ),
        public_nodes(
            node("OneHot", ["a", "b", "c"], ["k"]),
            arrays=[array("a", np.array([1, 2])), array("b", np.array(2**50)), array("c", np.array([0, 1]))],
        ),
    ],
    ids=["doubling", "repeated", "constant", "range", "one-hot"],
)
def test_public_values_too_large_are_refused_before_they_are_made(made) -> None:
    with pytest.raises(UserError, match="elements, more than"):
        lw.from_onnx(made)


def test_more_memory_is_allowed_where_it_is_asked_for() -> None:
    given = public_nodes(node("ConstantOfShape", ["n"], ["k"]), arrays=[array("n", np.array([2**20]))])
    with pytest.raises(ShapeError, match="memory_bytes="):
        lw.from_onnx(given, memory_bytes=2**22)
    assert lw.from_onnx(given)(np.ones(3)).tolist() == [1.0] * 3


def test_cycles_and_values_made_twice_are_refused() -> None:
    cycle = model([node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"])], {"x": [2]}, ["b"])
    with pytest.raises(FormatError, match="reads b, which node 2 makes later"):
        lw.from_onnx(cycle)
    twice = model([node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["y"])], {"x": [2]}, ["y"])
    with pytest.raises(FormatError, match="nodes 1 and 2 both make y"):
        lw.from_onnx(twice)
    with pytest.raises(FormatError, match="z is read, and nothing makes it"):
        lw.from_onnx(model([node("Add", ["x", "z"], ["y"])], {"x": [2]}, ["y"]))


@pytest.mark.slow
def test_functions_that_call_themselves_or_grow_without_end_are_refused() -> None:
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    itself = helper.make_function("own", "F", ["x"], ["y"], [node("F", ["x"], ["y"], domain="own")], opset)
    with pytest.raises(FormatError, match="nested too deeply"):
        lw.from_onnx(model([node("F", ["x"], ["y"], domain="own")], {"x": [2]}, ["y"], functions=[itself]))
    growing = [helper.make_function("own", "F0", ["x"], ["y"], [node("Neg", ["x"], ["y"])], opset)]
    for i in range(1, 22):
        calls = [node(f"F{i - 1}", ["x"], ["h"], domain="own"), node(f"F{i - 1}", ["h"], ["y"], domain="own")]
        growing.append(helper.make_function("own", f"F{i}", ["x"], ["y"], calls, opset))
    with pytest.raises(FormatError, match="more than 50000 nodes"):
        lw.from_onnx(model([node("F21", ["x"], ["y"], domain="own")], {"x": [2]}, ["y"], functions=growing))


@pytest.mark.slow
def test_loops_without_end_are_refused() -> None:
    value = helper.make_tensor_value_info
    body = helper.make_graph([node("Identity", ["on"], ["go"]), node("Neg", ["v"], ["w"])], "body",
                             [value("i", 7, []), value("on", 9, []), value("v", 1, None)], [value("go", 9, []), value("w", 1, None)])  # fmt: skip
    given = model([node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": [2]}, ["y"], [array("n", np.array(2**50))])
    with pytest.raises(UserError, match=r"20000 steps.*lw.for_loop"):
        lw.from_onnx(given)


def external(folder, location, offset=0, length=None):
    """A model in a folder whose weight is said to lie elsewhere."""
    given = one("Mul", np.ones((4, 4)))
    (weight,) = given.graph.initializer
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, said in (("location", location), ("offset", offset), ("length", length)):
        if said is not None:
            weight.external_data.add(key=key, value=str(said))
    (folder / "net.onnx").write_bytes(given.SerializeToString())
    return folder / "net.onnx"


def test_external_data_beside_the_model_are_read(tmp_path) -> None:
    numbers = np.arange(20, dtype=np.float32)
    (tmp_path / "net.data").write_bytes(numbers.tobytes())
    program = lw.from_onnx(external(tmp_path, "net.data", 16, 64))
    np.testing.assert_allclose(program(np.ones((1, 1, 4, 4)))[0, 0], numbers[4:].reshape(4, 4))
    with pytest.raises(UserError, match="path of the model instead of bytes"):
        lw.from_onnx((tmp_path / "net.onnx").read_bytes())


@pytest.mark.parametrize(
    ("location", "offset", "length", "said"),
    [
        ("../secret.data", 0, 64, "outside its folder"),
        ("/etc/passwd", 0, 64, "outside its folder"),
        ("link.data", 0, 64, "outside its folder"),
        ("", 0, 64, "outside its folder"),
        ("missing.data", 0, 64, "cannot be read"),
        ("pipe", 0, 64, "is no file"),
        ("net.data", 60, 64, "do not belong together"),
        ("net.data", -4, 64, "do not belong together"),
        ("net.data", 0, 2**60, "do not belong together"),
        ("net.data", "many", 64, "is no number"),
        ("a\0b", 0, 64, "cannot be read|outside"),
    ],
)
def test_external_data_elsewhere_are_refused(tmp_path, location, offset, length, said) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.data").write_bytes(bytes(64))
    (folder / "net.data").write_bytes(bytes(80))
    (folder / "link.data").symlink_to(tmp_path / "secret.data")
    os.mkfifo(folder / "pipe")
    with pytest.raises(UserError, match=said):
        lw.from_onnx(external(folder, location, offset, length))


def test_arrays_whose_data_do_not_fill_them_are_refused_by_name() -> None:
    for change, said in (
        (lambda w: w.dims.__setitem__(0, 2**60), "a0 has shape"),
        (lambda w: w.dims.__setitem__(0, -1), "negative extent"),
        (lambda w: setattr(w, "raw_data", w.raw_data[:-1]), "a0 has shape"),
        (lambda w: setattr(w, "data_type", 99), "data type 99"),
        (lambda w: setattr(w, "data_type", TensorProto.STRING), "strings"),
        (lambda w: setattr(w, "data_type", TensorProto.INT4), "a0"),
    ):
        given = one("Mul", np.ones((4, 4)))
        change(given.graph.initializer[0])
        with pytest.raises(UserError, match=said):
            lw.from_onnx(given)


def test_what_is_no_model_is_refused(tmp_path) -> None:
    for data in (b"", b"no model", bytes(1000), numpy_helper.from_array(np.ones(3), "x").SerializeToString()):
        with pytest.raises(FormatError, match="no ONNX model"):
            lw.from_onnx(data)
    with pytest.raises(UserError, match="cannot be read"):
        lw.from_onnx(tmp_path / "missing.onnx")
    with pytest.raises(FormatError, match="no file"):
        lw.from_onnx(tmp_path)
    with pytest.raises(UserError, match="int is no model"):
        lw.from_onnx(3)
    assert onnx.ModelProto().SerializeToString() == b""

"""Small files that would never end, or take all memory: ONNX, HEIR's text, skops, PyTorch's and arrays.

    python hostile_files.py [NAMES]

Each is read in a process of its own, with limits on processor time and addresses. Printed as JSON, a line for each file: what came
of it, the seconds and the megabytes that it took. Nothing but an error of ours is right, and no pickle may be run.
"""

import io
import itertools
import json
import os
import pickle
import resource
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import latticework as lw

SECONDS, MEGABYTES = 2.0, 500  # for each file
FAR = 2**60
node, opset, value = helper.make_node, helper.make_opsetid, helper.make_tensor_value_info
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def const(name, array, dtype=None):
    return numpy_helper.from_array(np.asarray(array, dtype), name)


def onnx_model(nodes, arrays=(), functions=(), shape=(1, 4), sparse=(), version=17):
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, shape)], [value("y", FLOAT, None)], list(arrays))
    graph.sparse_initializer.extend(sparse)
    opsets = [opset("", version), opset("own", 1), opset("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions)).SerializeToString()


def graph(nodes, inputs=(), outputs=(), name="b"):
    return helper.make_graph(list(nodes), name, [value(*i) for i in inputs], [value(*o) for o in outputs])


STATE = (("i", INT, []), ("c", BOOL, []), ("s", FLOAT, None))
AFTER = (("c", BOOL, []), ("s", FLOAT, None))


def added(*nodes, arrays=(), shape=(1, 4), version=17):
    """A model that adds the sum of a public k to x."""
    last = [
        node("Cast", ["k"], ["f"], to=1),
        node("ReduceSum", ["f"], ["t"], keepdims=0),
        node("Add", ["x", "t"], ["y"]),
    ]
    return onnx_model([*nodes, *last], arrays, shape=shape, version=version)


def loop(body, count=FAR, on=True, shape=(1, 4), extra=()):
    arrays = [const("n", count, np.int64), const("t", on, np.bool_)]
    return onnx_model([node("Loop", ["n", "t", "x"], ["y"], body=body)], [*arrays, *extra], shape=shape)


def nested_loops(depth, count):
    body = graph([], STATE, AFTER)
    for level in range(depth):
        inner = node("Loop", ["n", "t", "s"], ["r"], body=body)
        body = graph([inner], STATE, (("c", BOOL, []), ("r", FLOAT, None)), f"b{level}")
    return loop(body, count)


def scan(length, nodes=(), extra=(), secret=True):
    body = graph(nodes, (("s", FLOAT, None), ("e", FLOAT, None)), (("s", FLOAT, None), ("e", FLOAT, None)))
    given = "x" if secret else "q"
    return onnx_model([*extra, node("Scan", ["z", given], ["y", "u"], body=body, num_scan_inputs=1)],
                      [const("z", np.zeros(1, np.float32)), const("m", [length], np.int64)], shape=(length if secret else 4, 1))  # fmt: skip


def doubling(operator, times=60, **options):
    names = ["k0", *(f"k{i}" for i in range(1, times)), "k"]
    return added(*(node(operator, [a, a], [b], **options) for a, b in itertools.pairwise(names)),
                 arrays=[const("k0", np.ones(2, np.float32))])  # fmt: skip


def function(name, nodes):
    return helper.make_function("own", name, ["x"], ["y"], nodes, [opset("", 17), opset("own", 1)])


def calls(*names):
    values = ["x", *(f"h{i}" for i in range(1, len(names))), "y"]
    return [node(n, [a], [b], domain="own") for n, a, b in zip(names, values, values[1:], strict=False)]


def call_tree(depth, each=2):
    made = [function("F0", [node("Neg", ["x"], ["y"])])]
    made += [function(f"F{i}", calls(*[f"F{i - 1}"] * each)) for i in range(1, depth)]
    return onnx_model(calls(f"F{depth - 1}"), functions=made)


def if_tree(depth):
    """Functions whose two branches call the next one."""
    made = [function("F0", [node("Neg", ["x"], ["y"])])]
    for i in range(1, depth):
        branch = helper.make_graph([node(f"F{i - 1}", ["x"], ["r"], domain="own")], "b", [], [value("r", FLOAT, None)])
        truth = node("Constant", [], ["t"], value=const("v", True, np.bool_))
        made.append(function(f"F{i}", [truth, node("If", ["t"], ["y"], then_branch=branch, else_branch=branch)]))
    return onnx_model(calls(f"F{depth - 1}"), functions=made)


def tensor(*dims, kind=1, **fields):
    made = TensorProto(name="w", data_type=kind, dims=dims, **fields)
    return onnx_model([node("Add", ["x", "w"], ["y"])], [made])


def outside(location, offset=None, length=None):
    made = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, said in (("location", location), ("offset", offset), ("length", length)):
        if said is not None:
            made.external_data.add(key=key, value=str(said))
    return onnx_model([node("Add", ["x", "w"], ["y"])], [made])


def sparse(dims, indices, values):
    made = helper.make_sparse_tensor(const("w", values, np.float32), const("", indices, np.int64), dims)
    return onnx_model([node("Add", ["x", "w"], ["y"])], sparse=[made])


def regressor(branches, leaves, trees=1, **options):
    """branches: of (mode, feature, value, yes, no) by number; leaves: numbers."""
    rows = [(i, *b) for i, b in enumerate(branches)] + [(i, "LEAF", 0, 0.0, 0, 0) for i in leaves]
    ids, modes, features, values, yes, no = zip(*rows, strict=True)
    given = {
        "nodes_treeids": [t for t in range(trees) for _ in ids], "nodes_nodeids": ids * trees,
        "nodes_modes": modes * trees, "nodes_featureids": features * trees, "nodes_values": values * trees,
        "nodes_truenodeids": yes * trees, "nodes_falsenodeids": no * trees,
        "target_treeids": [t for t in range(trees) for _ in leaves], "target_nodeids": list(leaves) * trees,
        "target_ids": [0] * len(leaves) * trees, "target_weights": [float(i) for i in leaves] * trees, "n_targets": 1,
    } | options  # fmt: skip
    return onnx_model([node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **given)], shape=[1, 4])


def dag(layers, wide):
    """Layers of comparisons of one feature each, of which every end leads to the next layer: wide ** layers paths."""
    branches = []
    for layer in range(layers):
        start, after = layer * (wide - 1), (layer + 1) * (wide - 1)
        for i in range(wide - 1):
            branches.append(
                ("BRANCH_LEQ", layer % 4, float(i + layer / 100), after, start + i + 1 if i + 2 < wide else after)
            )
    return regressor(branches, [len(branches)])


def chain(count):
    branches = [("BRANCH_LEQ", i % 4, float(i), count + i, i + 1) for i in range(count)]
    return regressor(branches, range(count, 2 * count + 1))


def equalities(depth, width=4):
    """A chain of comparisons for equality: what is not equal is below or above, and both go on."""
    branches = [("BRANCH_EQ", i % width, float(i), depth + i, i + 1) for i in range(depth)]
    return regressor(branches, range(depth, 2 * depth + 1))


def learned(operator, **options):
    return onnx_model([node(operator, ["x"], ["y"], domain="ai.onnx.ml", **options)])


def one(operator, *arrays, shape=(1, 1, 4, 4), **options):
    names = [f"a{i}" for i in range(len(arrays))]
    given = [const(n, a) for n, a in zip(names, arrays, strict=True)]
    return onnx_model([node(operator, ["x", *names], ["y"], **options)], given, shape=shape, version=18)


def varint(number):
    number, made = number & (2**64 - 1), bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def deep_message(depth):
    """Graphs in attributes in nodes in graphs, as bytes: deeper than a parser goes."""
    data = b""
    for _ in range(depth):
        for tag in (b"\x32", b"\x2a", b"\x0a"):
            data = tag + varint(len(data)) + data
    return b"\x3a" + varint(len(data)) + data


def long_chain(count, operator="Neg", reads=1):
    names = ["x", *(f"v{i}" for i in range(1, count)), "y"]
    return onnx_model([node(operator, [a] * reads, [b]) for a, b in itertools.pairwise(names)])


def onnx_files():
    F, f = FAR, np.float32
    neg = [node("Neg", ["s"], ["w"])]
    stop = [node("Less", ["i", "far"], ["go"]), *neg]
    grown = [node("Concat", ["s", "s"], ["w"], axis=0)]
    ends = (("c", BOOL, []), ("w", FLOAT, None))
    big = 2**21
    yield "loop, empty", loop(graph([], STATE, AFTER))
    yield "loop, endless by condition", onnx_model(
        [node("Loop", ["", "t", "x"], ["y"], body=graph([], STATE, AFTER))], [const("t", True, np.bool_)])  # fmt: skip
    yield "loop, a node", loop(graph(neg, STATE, ends))
    yield "loop, its condition computed", loop(
        graph(stop, STATE, (("go", BOOL, []), ("w", FLOAT, None))), extra=[const("far", F, np.int64)])  # fmt: skip
    yield (
        "loop, identities",
        loop(graph([node("Identity", ["c"], ["go"])], STATE, (("go", BOOL, []), ("s", FLOAT, None)))),
    )
    yield "loop, grows a secret", loop(graph(grown, STATE, ends), 60)
    yield "loop, grows a public one", added(
        node("Loop", ["n", "t", "k0"], ["k"], body=graph(grown, STATE, ends)),
        arrays=[const("n", 60, np.int64), const("t", True, np.bool_), const("k0", np.ones(2, f))])  # fmt: skip
    yield "loop, stacks its turns", onnx_model(
        [node("Loop", ["n", "t", "x"], ["s", "y"], body=graph([], STATE, (*AFTER, ("s", FLOAT, None))))],
        [const("n", F, np.int64), const("t", True, np.bool_)])  # fmt: skip
    yield "loop, negative turns", onnx_model(
        [node("Loop", ["n", "t", "x"], ["s", "y"], body=graph([], STATE, (*AFTER, ("s", FLOAT, None))))],
        [const("n", -F, np.int64), const("t", True, np.bool_)])  # fmt: skip
    yield "loop, most turns", loop(graph([], STATE, AFTER), 2**63 - 1)
    for depth, count in ((2, 2**30), (3, 2**20), (4, 1000), (6, 100), (10, 30), (20, 8), (30, 3), (12, 12)):
        yield f"loops, {depth} nested of {count}", nested_loops(depth, count)
    yield "loop, a wrong body", loop(graph([], STATE[:1], AFTER[:1]))
    yield "scan, a long secret", scan(2**26)
    yield "scan, a long secret, a node", scan(2**24, [node("Neg", ["e"], ["u"])])
    yield "scan, a long public one", scan(2**22, extra=[node("ConstantOfShape", ["m"], ["q"])], secret=False)
    yield "scan, of nothing", scan(0, extra=[node("ConstantOfShape", ["m"], ["q"])], secret=False)
    yield (
        "scan, more than there is",
        onnx_model(
            [
                node(
                    "Scan",
                    ["x"],
                    ["y"],
                    body=graph([], (("s", FLOAT, None),), (("s", FLOAT, None),)),
                    num_scan_inputs=2**40,
                )
            ]
        ),
    )
    for depth, each in ((60, 2), (22, 2), (40, 3), (12, 9), (49, 2)):
        yield f"functions, {depth} deep, {each} calls each", call_tree(depth, each)
    yield "function, calls itself", onnx_model(calls("F"), functions=[function("F", calls("F"))])
    yield "function, calls itself twice", onnx_model(calls("F"), functions=[function("F", calls("F", "F"))])
    yield "functions, call each other", onnx_model(
        calls("F"), functions=[function("F", calls("G", "G")), function("G", calls("F", "F"))])  # fmt: skip
    yield "functions, a long chain", onnx_model(
        calls("F0"), functions=[function(f"F{i}", calls(f"F{i + 1}")) for i in range(5000)]
        + [function("F5000", [node("Neg", ["x"], ["y"])])])  # fmt: skip
    yield "functions, called in both branches", if_tree(60)
    for depth in (50, 500, 5000):
        yield f"messages, {depth} deep", deep_message(depth)
    for dims in ((0, 2**62, 2**62), (0, 2**63 - 1), (2**62, 0, 4), (-1, 4), (-4, -1), (2**32, 2**32), (F, F, F), (2**63 - 1,),
                 (0,) * 40, (1,) * 100, (2**31, 2), (4, -(2**63)), (3,)):  # fmt: skip
        yield f"dims {dims[:4]}", tensor(*dims)
    yield "dims, raw data of none", tensor(0, F, F, raw_data=b"")
    yield "dims of strings", tensor(F, kind=8, string_data=[b"a"])
    yield "dims of 4 bits", tensor(F, kind=22, raw_data=b"a")
    yield "dims of bfloat16", tensor(2**40, kind=16, raw_data=b"ab")
    yield "dims, a kind of none", tensor(4, kind=99, raw_data=b"a")
    yield "dims, complex", tensor(F, kind=14)
    yield (
        "dims in an attribute",
        onnx_model(
            [
                node("Constant", [], ["w"], value=TensorProto(data_type=1, dims=[0, 2**62, 2**62])),
                node("Add", ["x", "w"], ["y"]),
            ]
        ),
    )
    yield "shape of an input", onnx_model([node("Neg", ["x"], ["y"])], shape=(2**60, 2**60))
    yield "shape of an input, 0", onnx_model([node("Neg", ["x"], ["y"])], shape=(0, 2**62, 2**62))
    yield "shape of an input, negative", onnx_model([node("Neg", ["x"], ["y"])], shape=(-4, 4))
    yield "shape of an input, symbolic", onnx_model([node("Neg", ["x"], ["y"])], shape=("N", "M"))
    yield "shape of an input, many axes", onnx_model([node("Neg", ["x"], ["y"])], shape=(1,) * 1000)
    yield "concatenated again and again", doubling("Concat", axis=0)
    yield (
        "concatenated secrets",
        onnx_model(
            [
                node("Concat", ["x" if i == 0 else f"s{i}"] * 2, [f"s{i + 1}" if i < 59 else "y"], axis=0)
                for i in range(60)
            ]
        ),
    )
    yield "multiplied outer", added(
        *(node("Unsqueeze", [f"k{i}", "o"], [f"u{i}"]) for i in range(4)),
        *(node("Mul", [f"k{i}", f"u{i}"], [f"k{i + 1}" if i < 3 else "k"]) for i in range(4)),
        arrays=[const("k0", np.ones(2000, f)), const("o", [-1], np.int64)])  # fmt: skip
    yield "expanded", one("Expand", np.array([2**40, 1, 1, 1]))
    yield "expanded, negative", one("Expand", np.array([-(2**40), 1, 1, 1]))
    yield "tiled", one("Tile", np.array([2**40] * 4))
    yield "tiled to nothing", one("Tile", np.array([0, 2**62, 2**62, 1]))
    yield (
        "constant of shape",
        added(node("ConstantOfShape", ["n"], ["k"]), arrays=[const("n", [2**40, 2**40], np.int64)]),
    )
    yield "constants of shape", added(
        *(node("ConstantOfShape", ["n"], [f"k{i}"]) for i in range(400)), node("Sum", [f"k{i}" for i in range(400)], ["k"]),
        arrays=[const("n", [big], np.int64)])  # fmt: skip
    yield (
        "constant of shape, 0",
        added(node("ConstantOfShape", ["n"], ["k"]), arrays=[const("n", [0, 2**62, 2**62], np.int64)]),
    )
    yield (
        "constant of shape, negative",
        added(node("ConstantOfShape", ["n"], ["k"]), arrays=[const("n", [-5], np.int64)]),
    )
    for name, ends_ in (("", (0, 2**60, 1)), (" backwards", (0, -(2**60), -1)), (" by 0", (0, 4, 0))):
        yield f"range{name}", added(node("Range", ["a", "b", "c"], ["k"]),
                                    arrays=[const(n, e, np.int64) for n, e in zip("abc", ends_, strict=True)])  # fmt: skip
    yield "range, small steps", added(node("Range", ["a", "b", "c"], ["k"]),
                                      arrays=[const("a", 0, f), const("b", 1e30, f), const("c", 1e-30, f)])  # fmt: skip
    yield "range, not finite", added(node("Range", ["a", "b", "c"], ["k"]),
                                     arrays=[const("a", 0, f), const("b", np.inf, f), const("c", 1, f)])  # fmt: skip
    yield "one-hot", added(node("OneHot", ["a", "b", "c"], ["k"]),
                           arrays=[const("a", [1, 2]), const("b", 2**50), const("c", [0, 1])])  # fmt: skip
    yield "eye-like", added(node("ConstantOfShape", ["n"], ["e"]), node("EyeLike", ["e"], ["k"]),
                            arrays=[const("n", [2**20, 2**20], np.int64)])  # fmt: skip
    yield "resized", one("Resize", np.zeros(0, f), np.array([1, 1, 1e9, 1e9], f))
    yield "resized, not finite", one("Resize", np.zeros(0, f), np.array([1, 1, np.inf, 1], f))
    yield "padded", one("Pad", np.array([2**40] * 8))
    yield "padded, negative", one("Pad", np.array([-(2**40)] * 8))
    yield "gathered", onnx_model(
        [node("ConstantOfShape", ["n"], ["i"], value=const("v", [0], np.int64)), node("Gather", ["x", "i"], ["y"])],
        [const("n", [2**22], np.int64)], shape=(4, 64))  # fmt: skip
    yield "read again and again", added(
        node("ConstantOfShape", ["n"], ["e"]), *(node("Size", ["e"], [f"s{i}"]) for i in range(20_000)),
        node("Sum", [f"s{i}" for i in range(20_000)], ["k"]), arrays=[const("n", [big], np.int64)])  # fmt: skip
    yield "gathered, far", one("Gather", np.array([2**62]))
    yield "depth to space", one("DepthToSpace", blocksize=2**31)
    yield "pooled", one("MaxPool", kernel_shape=[2**40, 2**40])
    yield "pooled, padded", one("MaxPool", kernel_shape=[2, 2], pads=[2**40] * 4)
    yield "convolved, apart", one("Conv", np.ones((1, 1, 2, 2), f), dilations=[2**40] * 2, pads=[2**40] * 4)
    yield "convolved, transposed", one("ConvTranspose", np.ones((1, 1, 2, 2), f), strides=[2**40, 2**40])
    yield "convolved, groups", one("Conv", np.ones((1, 1, 2, 2), f), group=2**40)
    yield "reshaped, far", one("Reshape", np.array([2**62, 2**62]))
    yield "reshaped, many axes", one("Reshape", np.array([1] * 100))
    yield "split, far", one("Split", np.array([2**62, -(2**62) + 4]), axis=3)
    yield (
        "einsum, endless",
        added(node("Einsum", ["u", "u", "u", "u"], ["k"], equation="a,b,c,d->"), arrays=[const("u", np.ones(3000, f))]),
    )
    yield "einsum, wide", one("Einsum", np.ones(big, f), shape=(big,), equation="i,j->ij")
    yield "einsum, summed", one("Einsum", np.ones(2**17, f), shape=(2**20,), equation="i,j->")
    yield "einsum, many letters", one("Einsum", equation="," * 1000)
    yield "products, many", added(
        node("ConstantOfShape", ["n"], ["e"]), node("ConstantOfShape", ["m"], ["h"]),
        *(node("MatMul", ["e", "h"], [f"p{i}"]) for i in range(2000)), node("Sum", [f"p{i}" for i in range(2000)], ["k"]),
        arrays=[const("n", [100, 40000], np.int64), const("m", [40000, 100], np.int64)])  # fmt: skip
    yield "products, outer", one("MatMul", np.ones((1, big), f), shape=(big, 1))
    yield (
        "strings",
        added(
            node("ConstantOfShape", ["n"], ["k"], value=const("v", ["a" * 10000])),
            arrays=[const("n", [2**20], np.int64)],
        ),
    )
    yield "sparse, large", sparse([2**40], [0], [1.0])
    yield "sparse, far", sparse([4], [2**62], [1.0])
    yield "sparse, 0", sparse([0, 2**62, 2**62], np.zeros((0, 3)), np.zeros(0))
    for place in (
        "../w",
        "/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/mem",
        "",
        "a\0b",
        "x" * 5000,
        "../" * 1000,
    ):
        yield f"data in {place[:20]!r}", outside(place)
    yield "data in a pipe", outside("pipe")
    yield "data, sparse on the disk", onnx_model([node("Add", ["x", "w"], ["y"])], [_far_away()])
    yield "data, negative", outside("w", -4, 16)
    yield "data, far", outside("w", 2**62, 16)
    yield "data, a number of many digits", outside("w", "9" * 10000)
    yield (
        "recurrent, long",
        one("LSTM", np.ones((1, 4, 1), f), np.ones((1, 4, 1), f), shape=(2**27, 1, 1), hidden_size=1),
    )
    yield "chain of 100000 nodes", long_chain(100_000)
    yield "chain of 100000 sums", long_chain(100_000, "Add", 2)
    yield (
        "nodes, 100000 that nothing reads",
        onnx_model([node("Neg", ["x"], ["y"]), *(node("Neg", ["x"], [f"v{i}"]) for i in range(100_000))]),
    )
    yield "attributes, many", one("Reshape", allowzero=1, **{f"a{i}": i for i in range(20_000)})
    yield "attribute, a list", one("Split", axis=3, split=[1] * 1_000_000)
    yield (
        "values, a cycle",
        onnx_model([node("Add", ["x", "b"], ["a"]), node("Add", ["a", "a"], ["b"]), node("Neg", ["b"], ["y"])]),
    )
    yield "names, long", onnx_model([node("N" * 1_000_000, ["x"], ["y"])])
    yield "no model", b"\x00" * 100_000
    yield "no model, a text", b"(" * 100_000


def _far_away():
    made = TensorProto(name="w", data_type=1, dims=[2**30], data_location=TensorProto.EXTERNAL)
    made.external_data.add(key="location", value="sparse")
    return made


def tree_files():
    yield "trees, a DAG", dag(4, 11)
    yield "trees, a deep DAG", dag(60, 2)
    yield "trees, both ways to one", regressor([("BRANCH_LEQ", i % 4, float(i), i + 1, i + 1) for i in range(60)], [60])
    yield "trees, equalities", equalities(60)
    yield "trees, equalities, many features", onnx_equalities(40)
    yield "trees, a long chain", chain(6000)
    yield "trees, a loop", regressor([("BRANCH_LEQ", 0, 0.0, 1, 2), ("BRANCH_LEQ", 0, 1.0, 0, 2)], [2])
    yield "trees, to itself", regressor([("BRANCH_LEQ", 0, 0.0, 0, 1)], [1])
    yield "trees, many targets", regressor([("BRANCH_LEQ", 0, 0.0, 1, 2)], [1, 2], n_targets=2**40)
    yield "trees, negative targets", regressor([("BRANCH_LEQ", 0, 0.0, 1, 2)], [1, 2], n_targets=-1)
    yield "trees, wide targets", regressor([("BRANCH_LEQ", 0, 0.0, 1, 2)], [1, 2], trees=200, n_targets=100_000)
    yield "trees, a far feature", regressor([("BRANCH_LEQ", 2**60, 0.0, 1, 2)], [1, 2])
    yield "trees, lists of other lengths", regressor([("BRANCH_LEQ", 0, 0.0, 1, 2)], [1, 2], nodes_values=[0.0] * 9)
    yield "trees, leaves not finite", regressor([("BRANCH_LEQ", 0, 0.0, 1, 2)], [1, 2], target_weights=[np.inf, 0.0])
    yield "trees, sums of little", regressor([("BRANCH_LEQ", 0, 0.0, 1, 2)], [1, 2], nodes_treeids=[0])
    yield "trees, many roots", tree_ensemble([0] * 100_000, [0], [-1])
    yield "trees, a root that is led to", tree_ensemble([0, 1], [1, 0], [0, -1])
    yield "trees, members", tree_ensemble([0], [0], [-1], modes=6, splits=np.nan, membership_values=_members())
    yield "labels of other lengths", learned("LabelEncoder", keys_floats=[0.0] * 3, values_floats=[1.0] * 4)
    yield "labels of far numbers", learned("LabelEncoder", keys_int64s=[0], values_int64s=[2**62, 1])
    yield "support vectors, few", learned(
        "SVMRegressor", coefficients=[1.0] * 3, support_vectors=[1.0] * 5, n_supports=2**40, rho=[0.0], kernel_type="LINEAR",
        kernel_params=[1.0, 0.0, 3.0])  # fmt: skip
    yield (
        "support vectors, many classes",
        learned(
            "SVMClassifier",
            classlabels_ints=list(range(3000)),
            coefficients=[1.0],
            support_vectors=[1.0] * 4,
            vectors_per_class=[1] * 3000,
            rho=[0.0],
            kernel_type="RBF",
            kernel_params=[1.0, 0.0, 3.0],
            prob_a=[1.0],
            prob_b=[0.0],
        ),
    )
    yield (
        "linear, many classes",
        learned("LinearClassifier", coefficients=[1.0] * 3, intercepts=[0.0], classlabels_ints=list(range(100_000))),
    )
    yield "words, n-grams of wrong lengths", onnx_model([node(
        "TfIdfVectorizer", ["x"], ["y"], max_gram_length=2**40, max_skip_count=2**40, min_gram_length=1, mode="TF",
        ngram_counts=[2**40], ngram_indexes=[2**60], pool_int64s=[1])])  # fmt: skip
    yield "features, one-hot of many", learned("OneHotEncoder", cats_int64s=list(range(100_000)), zeros=1)


def onnx_equalities(depth):
    branches = [("BRANCH_EQ", i, 0.0, depth + i, i + 1) for i in range(depth)]
    data = onnx_import(regressor(branches, range(depth, 2 * depth + 1)))
    data.graph.input[0].type.tensor_type.elem_type = INT
    data.graph.input[0].type.tensor_type.shape.dim[1].dim_value = depth
    return data.SerializeToString()


def onnx_import(data):
    from onnx import ModelProto

    return ModelProto.FromString(data)


def _members():
    return const("m", np.array([*np.arange(300_000.0), np.nan], np.float32))


def tree_ensemble(roots, yes, no, modes=0, splits=0.5, **options):
    count = len(yes)
    made = node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, aggregate_function=1, post_transform=0, tree_roots=roots,
        nodes_modes=const("a", [modes] * count, np.uint8), nodes_featureids=[0] * count,
        nodes_splits=const("s", [splits] * count, np.float32), nodes_truenodeids=[abs(y) for y in yes],
        nodes_falsenodeids=[abs(n) for n in no], nodes_trueleafs=[int(y <= 0) for y in yes],
        nodes_falseleafs=[int(n <= 0) for n in no],
        leaf_targetids=[0] * 2, leaf_weights=const("l", [0.0, 1.0], np.float32), **options)  # fmt: skip
    data = onnx_import(onnx_model([made]))
    data.opset_import[2].version = 5
    return data.SerializeToString()


# HEIR

CLIENT = """
  func.func @p__encrypt__arg0(%cc: !cc, %x: tensor<4xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "p", index = 0 : i64, roles = ["client.encrypt"]}} {
    ENCRYPT
    %w = arith.constant dense<1.0> : tensor<1x4xf32>
    %c0 = arith.constant 0 : index
    %s = tensor.extract_slice %w[0, 0] [1, 4] [1, 1] : tensor<1x4xf32> to tensor<4xf32>
    %p = openfhe.make_ckks_packed_plaintext %cc, %x : (!cc, tensor<4xf32>) -> !pt
    %c = openfhe.encrypt %cc, %p, %pk : (!cc, !pt, !pk) -> !ct
    %r = tensor.from_elements %c : tensor<1x!ct>
    return %r : tensor<1x!ct>
  }
  func.func @p__decrypt__result0(%cc: !cc, %r: tensor<1x!ct>, %sk: !sk) -> tensor<4xf32> attributes {heir.interface = {func_name = "p", index = 0 : i64, roles = ["client.decrypt"]}} {
    DECRYPT
    %c0 = arith.constant 0 : index
    %c = tensor.extract %r[%c0] : tensor<1x!ct>
    %p = openfhe.decrypt %cc, %c, %sk : (!cc, !ct, !sk) -> !pt
    %t = openfhe.decode_ckks %p : !pt -> tensor<4xf32>
    return %t : tensor<4xf32>
  }
"""
ALIASES = """!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
"""


def heir(main=(), encrypt=(), decrypt=(), functions="", aliases=""):
    """A program that returns what it is given, with more lines in its functions."""
    lines = {
        where: "\n    ".join(given) for where, given in (("MAIN", main), ("ENCRYPT", encrypt), ("DECRYPT", decrypt))
    }
    text = (
        ALIASES + aliases + "module {\n" + functions
        + "  func.func @p(%cc: !cc, %x: tensor<1x!ct>) -> tensor<1x!ct> {\n    MAIN\n    return %x : tensor<1x!ct>\n  }\n"
        + CLIENT + "}\n"
    )  # fmt: skip
    for where, given in lines.items():
        text = text.replace(where, given, 1)
    return text.encode()


def heir_loop(count, body=(), depth=1, computed=False):
    """Nested loops, between numbers that stand there or are computed."""
    lines = [
        "%z0 = arith.constant 0 : index",
        "%o1 = arith.constant 1 : index",
        f"%n0 = arith.constant {count} : index",
    ]
    end = "%n0"
    if computed:
        lines.append("%n1 = arith.muli %n0, %n0 : index")
        end = "%n1"
    lines += [f"scf.for %i{d} = %z0 to {end} step %o1 {{" for d in range(depth)]
    return [*lines, *body, *["}"] * depth]


def heir_calls(depth, each=2, parameter="i64"):
    made = [f"  func.func @f0(%a: {parameter}) -> {parameter} {{\n    return %a : {parameter}\n  }}\n"]
    for level in range(1, depth):
        names = ["%a", *(f"%r{i}" for i in range(1, each + 1))]
        lines = [
            f"    {b} = call @f{level - 1}({a}) : ({parameter}) -> {parameter}\n" for a, b in itertools.pairwise(names)
        ]
        made.append(
            f"  func.func @f{level}(%a: {parameter}) -> {parameter} {{\n{''.join(lines)}    return {names[-1]} : {parameter}\n  }}\n"
        )
    return "".join(made), ["%v = arith.constant 1 : i64", f"%q = call @f{depth - 1}(%v) : (i64) -> i64"]


def heir_aliases(form, times=60):
    return "".join(f"!a{i + 1} = {form.format(f'!a{i}')}\n" for i in range(times))


def heir_files():
    for where in ("main", "encrypt", "decrypt"):
        yield f"heir, loop, empty, {where}", heir(**{where: heir_loop(2**60)})
        yield f"heir, loop, computed end, {where}", heir(**{where: heir_loop(2**30, computed=True)})
        yield f"heir, loops, nested, {where}", heir(**{where: heir_loop(1000, depth=6)})
        yield f"heir, loops, nested, computed, {where}", heir(**{where: heir_loop(60, depth=6, computed=True)})
        functions, lines = heir_calls(40)
        yield f"heir, calls, 40 deep, {where}", heir(**{where: lines}, functions=functions)
        functions, lines = heir_calls(60)
        yield f"heir, calls, 60 deep, {where}", heir(**{where: lines}, functions=functions)
        functions, lines = heir_calls(18, 3)
        yield f"heir, calls, three each, {where}", heir(**{where: lines}, functions=functions)
        again = "  func.func @g(%a: i64) -> i64 {\n    %r = call @g(%a) : (i64) -> i64\n    return %r : i64\n  }\n"
        yield f"heir, recursion, {where}", heir(
            **{where: ["%v = arith.constant 1 : i64", "%q = call @g(%v) : (i64) -> i64"]}, functions=again)  # fmt: skip
        yield f"heir, an array, {where}", heir(**{where: ["%m = tensor.empty() : tensor<1099511627776xf32>"]})
        arrays = [f"%m{i} = arith.constant dense<{i}.0> : tensor<1048576xf32>" for i in range(200)]
        yield f"heir, many arrays, {where}", heir(**{where: arrays})
    sums = [
        "%m0 = tensor.empty() : tensor<4194304xf32>",
        *(f"%m{i + 1} = arith.addf %m{i}, %m{i} : tensor<4194304xf32>" for i in range(60)),
    ]
    yield "heir, arrays that are held", heir(main=sums)
    yield (
        "heir, whole numbers",
        heir(main=["%m0 = tensor.empty() : tensor<4194304xi64>", "%m1 = arith.addi %m0, %m0 : tensor<4194304xi64>"]),
    )
    yield "heir, broadcast", heir(main=[
        "%a = tensor.empty() : tensor<65536x1xf32>", "%b = tensor.empty() : tensor<1x65536xf32>",
        "%d = arith.addf %a, %b : tensor<65536x1xf32>"])  # fmt: skip
    yield "heir, slices in a loop", heir(main=heir_loop(100_000, [
        "%m = tensor.empty() : tensor<1000000xf32>",
        "%s = tensor.extract_slice %m[0] [1000000] [1] : tensor<1000000xf32> to tensor<1000000xf32>"]))  # fmt: skip
    yield "heir, many slots", heir(encrypt=[
        "%big = tensor.empty() : tensor<8388608xf32>",
        *(f"%p{i} = openfhe.make_ckks_packed_plaintext %cc, %big : (!cc, tensor<8388608xf32>) -> !pt" for i in range(40))])  # fmt: skip
    yield "heir, ciphertexts in a loop", heir(main=heir_loop(1_000_000, [
        "%c0 = arith.constant 0 : index", "%c = tensor.extract %x[%c0] : tensor<1x!ct>",
        "%d = openfhe.add %cc, %c, %c : (!cc, !ct, !ct) -> !ct"]))  # fmt: skip
    yield "heir, an argument that is large", heir().replace(b"tensor<4xf32>", b"tensor<1099511627776xf32>")
    yield "heir, ciphertexts that are many", heir().replace(b"tensor<1x!ct>", b"tensor<1099511627776x!ct>")
    yield "heir, aliases, double", heir(aliases="!a0 = i32\n" + heir_aliases("tuple<{0}, {0}>"))
    yield "heir, aliases, of functions", heir(aliases="!a0 = i32\n" + heir_aliases("({0}, {0}) -> ({0}, {0})"))
    yield "heir, aliases, long", heir(aliases="!a0 = i32\n" + heir_aliases(f"tuple<{{0}}, {'i32, ' * 100}i32>", 5000))
    lists = "".join(f"#b{i + 1} = [#b{i}, #b{i}]\n" for i in range(60))
    for key in ("function_type", "sym_name", "arg_attrs"):
        text = (
            f"#b0 = 1\n{lists}".encode()
            + b'module {\n  "func.func"() <{%s = #b60}> ({\n  }) : () -> ()\n}\n' % key.encode()
        )
        yield f"heir, doubled lists, {key}", text
    yield "heir, doubled lists, a callee", f"#b0 = 1\n{lists}".encode() + heir(
        main=['%q = "func.call"(%x) <{callee = #b60}> : (tensor<1x!ct>) -> tensor<1x!ct>'])  # fmt: skip
    yield (
        "heir, doubled lists, a role",
        f"#b0 = 1\n{lists}".encode() + heir().replace(b'func_name = "p"', b"func_name = #b60"),
    )
    yield "heir, a constant", heir(main=["%m = arith.constant dense<0> : tensor<1099511627776xi32>"])
    yield (
        "heir, a constant of no size",
        heir(main=["%m = arith.constant dense<0> : tensor<0x4611686018427387904x4611686018427387904xi32>"]),
    )
    yield "heir, a constant of hex", heir(main=['%m = arith.constant dense<"0x00"> : tensor<1099511627776xi32>'])
    yield (
        "heir, wide integers",
        heir(main=["%m = arith.constant 1 : i9999999999", "%k = arith.addi %m, %m : i9999999999"]),
    )
    yield "heir, many digits", heir(main=[f"%m = arith.constant {'9' * 1_000_000} : index"])
    yield "heir, many digits in a shape", heir(main=[f"%m = tensor.empty() : tensor<{'9' * 100_000}xf32>"])
    yield "heir, many results", heir(main=['%m:999999999999 = "func.call"() : () -> ()'])
    for sign, name in (("(", "parentheses"), ("[", "brackets"), ("{a = ", "braces"), ("<", "angles")):
        yield f"heir, deep {name}", b"#a = " + sign.encode() * 100_000
    yield "heir, deep types", b"!a = " + b"(" * 100_000
    yield "heir, deep groups", heir(aliases=f"!a = tuple<{'<' * 100_000}\n")
    yield "heir, deep regions", heir(main=["scf.if %x {"] * 5000)
    yield "heir, deep regions, generic", heir(main=['"scf.if"(%x) ({'] * 5000)
    yield "heir, a string without end", b'module { "' + b"a" * 1_000_000
    yield "heir, comments", b"//" * 1_000_000 + b"\n%"
    yield "heir, no text", bytes(range(256)) * 100


# skops


def skops_zip(schema, files=(), method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("schema.json", schema)
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def skops_of(fitted):
    from skops import io as skops_io

    return skops_io.dumps(fitted)


def changed(data, change):
    """A file of skops with its arrays and its schema changed by a function of name and bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return buffer.getvalue()


def huge_header(name, data, shape="(1099511627776,)"):
    if not name.endswith(".npy"):
        return data
    return npy(shape)


def npy(shape, dtype="'<f8'", body=b""):
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def in_schema(old, new):
    return lambda name, data: data.replace(old, new) if name == "schema.json" else data


def lying(data, size):
    """An archive whose directory declares another size of its last entry, in both places."""
    entries = data.rindex(b"PK\x01\x02")
    local = struct.unpack_from("<I", data, entries + 42)[0]
    made = bytearray(data)
    struct.pack_into("<I", made, entries + 24, size)
    struct.pack_into("<I", made, local + 22, size)
    return bytes(made)


def zeros(count):
    return skops_zip("{}", [("bomb", b"\0" * count)], zipfile.ZIP_DEFLATED)


def overlapping(count):
    """Entries of a directory that all lie at one place."""
    data = zeros(1 << 20)
    start, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(entry[:46] + entry[46:].replace(b"bomb", b"%04x" % i) for i in range(count))
    first = data.index(b"PK\x01\x02")
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(entries), first, 0)
    return data[:first] + entries + tail


class Payload:
    """What a pickle runs when it is read."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def fitted_tree():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    return DecisionTreeRegressor(max_leaf_nodes=12).fit(rng.normal(size=(64, 4)), rng.normal(size=64))


def with_children(change):
    """A tree in a file of skops whose lists of children are changed."""

    def changing(name, data):
        if not name.endswith(".npy"):
            return data
        array = np.load(io.BytesIO(data))
        if array.dtype.names and "left_child" in array.dtype.names:
            change(array)
            buffer = io.BytesIO()
            np.save(buffer, array)
            return buffer.getvalue()
        return data

    return changed(skops_of(fitted_tree()), changing)


def _shared(array):
    inner = np.flatnonzero(array["left_child"] >= 0)
    for a, b in itertools.pairwise(inner):
        array["left_child"][a] = array["right_child"][a] = b


def _cycle(array):
    array["right_child"][0] = 0


def _far(array):
    array["left_child"][0] = 2**40


def _feature(array):
    array["feature"][0] = 2**40


def skops_files(folder):
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import PolynomialFeatures

    rng = np.random.default_rng(0)
    ridge = skops_of(Ridge().fit(rng.normal(size=(9, 4)), rng.normal(size=9)))
    yield "skops, a bomb", zeros(878 << 20)
    yield "skops, a bomb that lies", lying(zeros(600 << 20), 100)
    yield "skops, a stored entry that lies", lying(skops_zip("{}", [("a", b"\0" * 5000)]), 100)
    yield "skops, an entry that says more", lying(zeros(1 << 20), (1 << 20) + 5)
    yield "skops, entries in one place", overlapping(60_000)
    yield "skops, entries in one place, fewer", overlapping(500)
    yield "skops, many entries", skops_zip("{}", [(f"e{i}", b"") for i in range(60_000)])
    yield "skops, one name", _twice()
    yield "skops, archives in archives", _nested(9)
    yield "skops, bzip2", skops_zip("{}", [("bomb", b"\0" * (64 << 20))], zipfile.ZIP_BZIP2)
    yield "skops, lzma", skops_zip("{}", [("bomb", b"\0" * (64 << 20))], zipfile.ZIP_LZMA)
    yield "skops, no schema", skops_zip("")
    yield "skops, a deep schema", skops_zip('{"a":' * 100_000)
    yield "skops, a deep list", skops_zip("[" * 100_000)
    yield "skops, a long number", skops_zip("9" * 1_000_000)
    yield "skops, cut off", ridge[: len(ridge) // 2]
    yield "skops, huge arrays", changed(ridge, huge_header)
    yield (
        "skops, huge arrays of nothing",
        changed(ridge, lambda n, d: huge_header(n, d, "(0, 4611686018427387904, 4611686018427387904)")),
    )
    yield "skops, arrays of negative shape", changed(ridge, lambda n, d: huge_header(n, d, "(-1,)"))
    yield "skops, arrays of many axes", changed(ridge, lambda n, d: huge_header(n, d, "(" + "1," * 2000 + ")"))
    yield (
        "skops, arrays of objects",
        changed(ridge, lambda n, d: npy("(1,)", "'|O'", pickle.dumps([Payload(folder)])) if n.endswith(".npy") else d),
    )
    yield "skops, a header that is deep", changed(ridge, lambda n, d: huge_header(n, d, "(" * 2000))
    yield "skops, many features", changed(ridge, in_schema(b'"4"', b'"1152921504606846976"'))
    poly = skops_of(PolynomialFeatures(2).fit(rng.normal(size=(9, 4))))
    yield "skops, a high degree", changed(poly, in_schema(b'"content": "2"', b'"content": "100000000"'))
    yield "skops, a foreign type", changed(ridge, in_schema(b'"Ridge"', b'"system"'))
    yield "skops, a foreign module", changed(ridge, in_schema(b"sklearn.linear_model._ridge", b"os"))
    yield "skops, a foreign loader", changed(ridge, in_schema(b'"ObjectNode"', b'"FunctionNode"'))
    yield "skops, a pickle", pickle.dumps(Payload(folder))
    yield (
        "skops, a pickle in an archive",
        skops_zip('{"__loader__": "x"}', [("data.pkl", pickle.dumps(Payload(folder)))]),
    )
    for name, change in (("a DAG", _shared), ("a cycle", _cycle), ("a far child", _far), ("a far feature", _feature)):
        yield f"skops, trees, {name}", with_children(change)
    yield "skops, trees of many outputs", changed(skops_of(fitted_tree()), in_schema(b'"n_outputs_"', b'"n_outputs_x"'))


def _twice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skops_zip("{}", [("a", b"1"), ("a", b"2")])


def _nested(depth):
    data = b"\0" * (200 << 20)
    for _ in range(depth):
        data = skops_zip("{}", [("inner.zip", data)], zipfile.ZIP_DEFLATED)
    return data


# PyTorch's files, and arrays


def torch_files(folder):
    import torch

    buffer = io.BytesIO()
    torch.save({"a": torch.zeros(4)}, buffer)
    saved, run = buffer.getvalue(), pickle.dumps(Payload(folder))
    yield "pt, weights", saved
    yield "pt, cut off", saved[:-100]
    yield "pt, a pickle", run
    yield "pt, a pickle in an archive", skops_zip("", [("archive/data.pkl", run), ("archive/version", b"3")])
    yield "pt, a bomb", zeros(600 << 20)
    yield "pt, a bomb that lies", lying(zeros(600 << 20), 100)
    yield "pt, entries in one place", overlapping(60_000)
    yield "pt, nested", pickle.dumps(_lists(150))
    yield "pt, no file of any kind", b"\0" * 1000
    yield (
        "pt, a graph that is deep",
        skops_zip("", [("serialized_exported_program.json", "[" * 100_000), ("version", "7.3")]),
    )
    yield "pt, a graph that is none", skops_zip("", [("serialized_exported_program.json", "{}"), ("version", "7.3")])


def _lists(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


def array_files(folder):
    objects = io.BytesIO()
    np.save(objects, np.array([Payload(folder)], object), allow_pickle=True)
    yield "npy, objects", objects.getvalue()
    yield "npy, a pickle", pickle.dumps(Payload(folder))
    for shape in ("(1099511627776,)", "(0, 4611686018427387904, 4611686018427387904)", "(-1,)", "(2, -3)", "(" * 5000, "(9" * 50, "(1,) * 9",
                  "(" + "9" * 8000 + ",)"):  # fmt: skip
        yield f"npy, shape {shape[:20]}", npy(shape)
    for dtype in ("'O'", "'V0'", "'S0'", "'|O8'", "[('a', 'O')]", "'V1000000000'", "'x'"):
        yield f"npy, dtype {dtype}", npy("(1,)", dtype)
    yield "npy, a long header", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"("
    yield "npz, a bomb", zeros(878 << 20)
    yield "npz, a bomb that lies", lying(zeros(600 << 20), 100)
    yield "npz, an array of a huge shape", skops_zip("", [("a.npy", npy("(1099511627776,)"))])
    yield "npz, many entries", skops_zip("", [(f"e{i}", b"") for i in range(60_000)])
    yield "npz, objects", skops_zip("", [("a.npy", objects.getvalue())])


# Reading them


def read_onnx(data, folder):
    os.mkfifo(folder / "pipe")
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**32)
    (folder / "w").write_bytes(bytes(16))
    (folder / "net.onnx").write_bytes(data)
    lw.from_onnx(folder / "net.onnx")


def read_trees(data, _folder):
    width = onnx_import(data).graph.input[0].type.tensor_type.shape.dim[1].dim_value
    samples = np.arange(8.0 * width).reshape(8, width) + 0.37
    kind = onnx_import(data).graph.input[0].type.tensor_type.elem_type
    lw.from_onnx(io.BytesIO(data), trees="sign", samples=np.rint(samples) if kind == INT else samples, gap=2**-14)


def read_heir(data, folder):
    (folder / "program.mlir").write_bytes(data)
    program = lw.from_heir(folder / "program.mlir")
    if max(np.prod(p.kind.shape, dtype=object) for p in program.inputs) < 2**20:
        try:
            program(*(np.ones(p.kind.shape) for p in program.inputs))
        except lw.UserError:
            pass
        else:
            return
    assert program.code


def read_skops(data, _folder):
    loaded = lw.load_skops(data)
    lw.from_sklearn(loaded, trees="sign", samples=np.random.default_rng(0).normal(size=(20, 4)), gap=2**-12)


def read_torch(data, folder):
    from latticework.importers.torch_door.files import load_exported

    (folder / "net.pt2").write_bytes(data)
    for trust in (False, *([True] if not data.count(b"mkdir") else [])):  # whoever trusts a file lets it run
        try:
            load_exported(folder / "net.pt2", trust)
        except lw.UserError:
            continue
        return
    lw.from_torch(folder / "net.pt2")


def read_array(data, folder):
    from latticework.commands.arrays import read_values

    (folder / "array.npz").write_bytes(data)
    read_values(folder / "array.npz")


def hostile_files(folder):
    """All of them: name, how to read it, its bytes."""
    for read, made in ((read_onnx, onnx_files()), (read_trees, tree_files()), (read_heir, heir_files()),
                       (read_skops, skops_files(folder)), (read_torch, torch_files(folder)), (read_array, array_files(folder))):  # fmt: skip
        for name, data in made:
            yield name, read, data


def tried(read, data):
    """What comes of a file in a process of its own: the error, seconds and megabytes."""
    receiving, sending = os.pipe()
    started = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        addresses = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_CPU, (30, 31))
        resource.setrlimit(resource.RLIMIT_AS, (addresses + (4 << 30),) * 2)
        said, before = "imported", time.process_time()
        try:
            with tempfile.TemporaryDirectory() as folder:
                read(data, Path(folder))
        except lw.UserError as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException as error:
            said = f"FAULT {type(error).__name__}: {error}"
        told = said[:300], time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        os.write(sending, json.dumps(told).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    if not told:
        return "FAULT killed", 30.0, 0.0
    said, seconds, peak = json.loads(told)
    return said, seconds, (peak - started) / 2**20


def main(wanted):
    warnings.simplefilter("ignore")
    import skops.io  # noqa: F401
    import torch
    import torch.export  # noqa: F401

    import latticework.commands.arrays  # noqa: F401

    lw.from_onnx(long_chain(3))  # loads what is loaded when it is first used
    lw.from_sklearn(lw.load_skops(skops_of(fitted_tree())), trees="sign", samples=np.eye(4) + 0.1, gap=2**-12)
    assert lw.from_heir(heir()).code
    with tempfile.TemporaryDirectory() as folder:
        marker = str(Path(folder) / "was run")
        for name, read, data in hostile_files(marker):
            if wanted and not any(part in name for part in wanted):
                continue
            said, seconds, megabytes = tried(read, data)
            if Path(marker).exists():
                said = "FAULT a pickle was run"
                Path(marker).rmdir()
            told = {
                "name": name,
                "bytes": len(data),
                "said": said,
                "seconds": round(seconds, 2),
                "megabytes": round(megabytes),
            }
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

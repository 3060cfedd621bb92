"""ONNX files of a few bytes that would never end, or take all memory; `hostile_files.py` has those read."""

from itertools import pairwise

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

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
    return added(*(node(operator, [a, a], [b], **options) for a, b in pairwise(names)),
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
    return onnx_model([node(operator, [a] * reads, [b]) for a, b in pairwise(names)])


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

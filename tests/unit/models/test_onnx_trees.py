"""Ensembles of trees in ONNX files, by signs and exactly: what runtimes compute, or refused with a way out."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import onnx_trees as drawn
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import array, model, reference

import latticework as lw
from latticework.errors import ShapeError, UnsupportedError, UserError
from latticework.functions.approximation.sign import composite_sign
from latticework.models.converters import Converter, Converters
from latticework.models.evaluate_graph import run
from latticework.plan.client_steps.run_steps import errors_of, finish_exact, finish_of

WHOLE = np.arange(-2.0, 3.0)
WIDTH = 3
GAP = 2.0**-5


def rows(seed: int) -> tuple:
    """Whole numbers, thresholds among them, and numbers between thresholds."""
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, size=(12, WIDTH)).astype(float), drawn.between(WHOLE, rng, (12, WIDTH))


def said(of, x) -> list:
    return [reference(of, row[None]) for row in x]


def check(made, wanted, atol=1e-6) -> None:
    """One result, or several, of rows one by one."""
    for got, want in zip(made, wanted, strict=True):
        several = got if isinstance(got, tuple) else (got,)
        assert len(several) == len(want)
        for one, other in zip(several, want, strict=True):
            assert np.shape(one) == np.shape(other)
            if np.asarray(other).dtype.kind in "fi" and np.asarray(one).dtype.kind == "f":
                np.testing.assert_allclose(one, other, atol=atol, rtol=1e-5)
            else:
                assert np.asarray(one).tolist() == np.asarray(other).tolist()


def exact(of, x, **options) -> list:
    circuit = lw.from_onnx(of, trees="exact", samples=x, digits=4, **options)
    assert circuit.keeps_apart(x).all()
    return [circuit.finished([circuit(circuit.encoded(row[None])[0])]) for row in x]


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_all_modes_are_what_onnx_says(seed) -> None:
    """By circuits on whole numbers, thresholds among them, and where modes are orders by signs between them."""
    rng = np.random.default_rng(seed)
    x, between = rows(seed)
    ordered = seed % 2 == 0
    modes = drawn.ORDERED if ordered else drawn.MODES[:6]
    trees = [drawn.drawn(rng, 3, WIDTH, modes, WHOLE) for _ in range(1 + seed % 3)]
    weights = rng.normal(size=(drawn.leaves_in(trees), 2))
    of = drawn.regressor(
        trees, weights, WIDTH, 2, aggregate_function=["SUM", "AVERAGE"][seed // 2 % 2], base_values=[0.5, -2.0]
    )
    newer = [drawn.drawn(rng, 3, WIDTH, modes, WHOLE) for _ in range(2)]
    numbers = rng.normal(size=drawn.leaves_in(newer))
    also = drawn.ensemble(newer, numbers, WIDTH, [np.float32, np.float64][seed % 2], aggregate_function=seed % 2)
    for each in (of, also):
        check(exact(each, x), said(each, x), 5e-4)
        if ordered:
            program = lw.from_onnx(each, trees="sign", samples=between)
            check([program(row[None]) for row in between], said(each, between))
            check([program(row[None]) for row in x], said(each, x))


def test_sets_of_members_are_compared() -> None:
    rng = np.random.default_rng(3)
    x, _ = rows(3)
    trees = [drawn.drawn(rng, 3, WIDTH, ["MEMBER"], WHOLE) for _ in range(2)]
    of = drawn.ensemble(trees, rng.normal(size=drawn.leaves_in(trees)), WIDTH)
    found = exact(of, x)
    values = np.array([one_by_one(of, row) for row in x])
    np.testing.assert_allclose(np.ravel(found), values, atol=5e-4)


def test_splits_that_are_nan_are_refused() -> None:
    rng = np.random.default_rng(3)
    x, _ = rows(3)
    of = drawn.ensemble([drawn.drawn(rng, 3, WIDTH, ["LEQ"], WHOLE)], rng.normal(size=8), WIDTH)
    (splits,) = (a for a in of.graph.node[0].attribute if a.name == "nodes_splits")
    numbers = numpy_helper.to_array(splits.t).copy()
    numbers[-1] = np.nan
    splits.t.CopyFrom(numpy_helper.from_array(numbers))
    with pytest.raises(UnsupportedError, match="trees.*nodes_splits hold NaN where something is compared"):
        lw.from_onnx(of, trees="exact", samples=x)


def one_by_one(of, row) -> float:
    """A TreeEnsemble of sets by its attributes; the reference of ONNX ends a set at a member that is 0."""
    given = {a.name: helper.get_attribute_value(a) for a in of.graph.node[0].attribute}
    given = {name: np.array(v.float_data or np.frombuffer(v.raw_data, np.float32 if v.data_type == 1 else np.uint8))
             if hasattr(v, "raw_data") else v for name, v in given.items()}  # fmt: skip
    ends = [-1, *np.flatnonzero(np.isnan(given["membership_values"]))]
    sets = iter([given["membership_values"][a + 1 : b] for a, b in pairwise(ends)])
    chosen = {i: next(sets) for i, mode in enumerate(given["nodes_modes"]) if mode == 6}
    total = 0.0
    for at in given["tree_roots"]:
        is_leaf = False
        while not is_leaf:
            holds = row[given["nodes_featureids"][at]] in chosen[at] if at in chosen else True
            side = "true" if holds else "false"
            at, is_leaf = given[f"nodes_{side}nodeids"][at], given[f"nodes_{side}leafs"][at]
        total += float(given["leaf_weights"][at])
    return total


@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_the_least_and_the_largest_of_trees(aggregate) -> None:
    rng = np.random.default_rng(1)
    _, between = rows(1)
    trees = [drawn.drawn(rng, 2, WIDTH, drawn.ORDERED, WHOLE) for _ in range(3)]
    of = drawn.regressor(
        trees, rng.normal(size=(drawn.leaves_in(trees), 1)), WIDTH, aggregate_function=aggregate, base_values=[3.0]
    )
    program = lw.from_onnx(of, trees="sign", samples=between)
    check([program(row[None]) for row in between], said(of, between))
    with pytest.raises(UnsupportedError, match=f'trees.*aggregate_function={aggregate}.*trees="sign"'):
        lw.from_onnx(of, trees="exact", samples=between)


@pytest.mark.parametrize("way", ["sign", "exact"])
@pytest.mark.parametrize(
    ("labels", "signed", "post", "base"),
    [
        ((7, 3), False, "NONE", ()), ((7, 3), False, "NONE", (0.1,)), (("no", "yes"), True, "LOGISTIC", (0.2,)),
        ((7, 3, 5), True, "NONE", (0.1, 0.2, 0.3)), ((7, 3, 5), True, "SOFTMAX", ()),
        (("b", "a", "c"), False, "LOGISTIC", ()),
    ],
)  # fmt: skip
def test_classifiers_end_at_the_owner(labels, signed, post, base, way) -> None:
    rng = np.random.default_rng(len(labels) + len(post))
    x, between = rows(2)
    trees = [drawn.drawn(rng, 3, WIDTH, drawn.ORDERED, WHOLE) for _ in range(3)]
    draw = rng.normal if signed else rng.uniform
    entries = [
        [(c, w) for c, w in enumerate(draw(size=len(labels) if len(labels) > 2 else 1))]
        for _ in range(drawn.leaves_in(trees))
    ]
    more = {"base_values": list(base)} if base else {}
    of = drawn.classifier(trees, entries, WIDTH, list(labels), post_transform=post, **more)
    given = between if way == "sign" else x
    if way == "sign":
        program = lw.from_onnx(of, trees="sign", samples=between)
        assert [result.name for result in program.owner.after] == ["result0", "result1"]
        found = [program(row[None]) for row in between]
    else:
        found = exact(of, x)
    check(found, said(of, given), 1e-6 if way == "sign" else 5e-4)


def test_two_classes_of_one_score_that_may_be_negative() -> None:
    """As onnxruntime has it: both scores are one with either sign, and the second class is that above 0."""
    trees = [("LEQ", 0, [0.5], 0, 1)]
    of = drawn.classifier(trees, [[(0, -0.2)], [(0, 0.9)]], 1, [5, 7])
    program = lw.from_onnx(of, trees="sign", samples=np.array([[0.0], [1.0]]))
    labels, scores = program([[0.0]])
    assert labels.tolist() == [5] and np.allclose(scores, [[0.2, -0.2]])
    labels, scores = program([[1.0]])
    assert labels.tolist() == [7] and np.allclose(scores, [[-0.9, 0.9]])


def marked_program() -> tuple:
    """A forest of two classes by signs, and samples."""
    trees = [("LEQ", 0, [0.5], ("LEQ", 1, [0.0], 0, 1), 2), ("GT", 1, [1.0], 0, 1)]
    of = drawn.classifier(trees, [[(0, w)] for w in (0.05, 0.35, 0.1, 0.6, 0.0)], 2, [5, 7])
    samples = np.random.default_rng(0).uniform(-2, 2, (60, 2))
    return lw.from_onnx(of, trees="sign", samples=samples, gap=GAP), samples


def test_undecided_rows_are_marked_in_every_result() -> None:
    """With composite signs in place of comparisons, on rows close to thresholds and at the edges of gaps."""
    program, _ = marked_program()
    sign = composite_sign(GAP, 1.2, 2.0**-14)

    def trees(x, feature, threshold, side, scale, weight, bias, gap, is_single, clear, spread):
        bits = np.where(side == 0, 1.0, 0.5 + 0.5 * sign((x[:, feature] - threshold) * side * scale))
        comes = bits.prod(axis=1)
        return comes @ np.asarray(weight).T + bias, clear - np.sum(comes * (1 - comes), axis=1)

    rng = np.random.default_rng(1)
    x = np.stack([rng.choice([0.5, 1.7], 200), rng.choice([0.0, 1.0], 200)], 1) + rng.uniform(-3, 3, (200, 2)) * GAP
    graph = replace(program.graph, inputs=(replace(program.graph.inputs[0], shape=x.shape),))
    found = run(graph, Converters([Converter("ai.onnx.ml.TreeEnsembleClassifier", trees)]), {"x": x})
    outputs = dict(zip(program.output_shapes, found, strict=True))
    labels, scores = (finish_of(result, outputs, dict.fromkeys(outputs, 2.0**-12)) for result in program.owner.after)
    told = [program(row[None]) for row in x]
    right = np.array([label[0] for label, _ in told])
    assert (np.abs(scores.value - np.concatenate([each for _, each in told])) <= errors_of(scores)).all()
    assert (labels.value == right)[labels.certain].all() and not (labels.value == right).all()
    kept = program.keeps_apart(x, everywhere=False)
    assert 20 < kept.sum() < 180 and (np.max(errors_of(scores), axis=1)[kept] < 0.01).all()


@pytest.mark.slow
def test_a_forest_of_a_file_is_compiled() -> None:
    program, samples = marked_program()
    model = lw.compile(
        program, calibrate=samples[program.keeps_apart(samples)][:, None], precision_bits=8, progress=False
    )
    x = np.array([[-1.0, -1.0], [1.5, 1.5], [0.1, 0.4]])
    assert program.keeps_apart(x).all()
    for row in x:
        label, chances = program(row[None])
        found = model.simulate(row[None, None])
        assert found[0].ravel().tolist() == label.tolist()
        np.testing.assert_allclose(found[1].ravel(), chances.ravel(), atol=2.0**-6)


def test_trees_after_other_nodes_and_before_others() -> None:
    """Samples come to trees through what lies before; sums of several are marked together, whatever is linear after."""
    rng = np.random.default_rng(5)
    _, between = rows(5)
    trees = [drawn.drawn(rng, 3, WIDTH, drawn.ORDERED, WHOLE)]
    nodes = []
    for number in range(2):
        part = drawn.regressor(trees, rng.normal(size=(drawn.leaves_in(trees), 1)), WIDTH).graph.node[0]
        part.input[0], part.output[0], part.name = "h", f"t{number}", f"trees{number}"
        nodes.append(part)
    before = helper.make_node("Mul", ["x", "two"], ["h"])
    after = [helper.make_node("Add", ["t0", "t1"], ["s"]), helper.make_node("Mul", ["s", "s"], ["y"])]
    of = model([before, *nodes, after[0]], {"x": [1, WIDTH]}, ["s"], [array("two", np.array([2.0]))], ml=3)
    program = lw.from_onnx(of, trees="sign", samples=between / 2)
    check([program(row[None]) for row in between / 2], said(of, between / 2))
    (result,) = program.owner.after
    spreads = [np.max(node.options["spread"] if not hasattr(node.options["spread"], "name") else program.graph.constants[node.options["spread"].name])
               for node in program.graph.nodes if "spread" in node.options]  # fmt: skip
    assert len(spreads) == 2
    assert result.doubt.weight.array == pytest.approx(0.59 * 1.125 * sum(spreads))
    beyond = model([before, *nodes, *after], {"x": [1, WIDTH]}, ["y"], [array("two", np.array([2.0]))], ml=3)
    with pytest.raises(UnsupportedError, match="factor that is not known.*mark=False"):
        lw.from_onnx(beyond, trees="sign", samples=between / 2)
    unmarked = lw.from_onnx(beyond, trees="sign", samples=between / 2, mark=False)
    assert any("NOTHING MARKS" in note for note in unmarked.notes)
    check([unmarked(row[None]) for row in between / 2], said(beyond, between / 2))
    with pytest.raises(UnsupportedError, match="one ensemble of trees, and there are 2"):
        lw.from_onnx(of, trees="exact", samples=between)


def test_whole_inputs_may_be_compared_for_equality() -> None:
    """Thresholds lie half way between two whole numbers, so signs tell them apart."""
    trees = [("EQ", 0, [1.0], 0, ("LEQ", 1, [2.0], 1, 2)), ("LT", 1, [0.0], 0, 1)]
    weights = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    x = np.stack(np.meshgrid(range(-2, 4), range(-2, 4)), -1).reshape(-1, 2).astype(float)
    of = drawn.regressor(trees, weights, 2, kind=TensorProto.INT64)
    program = lw.from_onnx(of, trees="sign", samples=x)
    check([program(row[None]) for row in x], said(of, x))
    assert set(np.ravel(program.graph.constants["y.threshold"])) <= {-0.5, 0.5, 1.5, 2.5, 0.0}
    single = drawn.regressor(trees, weights, 2)
    with pytest.raises(UnsupportedError, match='compares feature 0 for equality.*trees="exact".*int64'):
        lw.from_onnx(single, trees="sign", samples=x)
    circuit = lw.from_onnx(single, trees="exact", samples=x)
    with pytest.raises(UserError, match=r"feature 0 is compared for equality, and row 1 has a fraction"):
        circuit.encoded([[1.0, 0.0], [1.2, 0.0]])


TREES = [("LEQ", 0, [0.5], 0, 1)]


@pytest.mark.parametrize(
    ("of", "options", "told"),
    [
        (drawn.regressor(TREES, np.eye(2)[:, :1], 1), {}, r"trees.*two ways to; choose trees="),
        (drawn.regressor(TREES, np.eye(2)[:, :1], 1), {"trees": "sign"}, "give samples=, rows like those"),
        (drawn.regressor(TREES, np.eye(2)[:, :1], 1), {"trees": "exact"}, "give samples=, rows like those"),
        (drawn.regressor(TREES, np.eye(2)[:, :1], 1, post_transform="PROBIT"), {"trees": "sign"}, "PROBIT of one target"),
        (drawn.regressor(TREES, np.eye(2), 1, 2, post_transform="PROBIT"), {"trees": "sign"}, "apply it after decryption"),
        (drawn.regressor(TREES, np.eye(2), 1, 2, post_transform="SOFTMAX_ZERO"), {"trees": "exact"}, "post_transform=NONE"),
        (drawn.regressor(TREES, np.eye(2)[:, :1], 1, 1, aggregate_function="MODE"), {"trees": "sign"}, "aggregate_function=MODE"),
        (drawn.regressor(TREES, np.eye(2)[:, :1], 1, base_values=[1.0, 2.0]), {"trees": "sign"}, "2 base_values for 1 targets"),
        (drawn.regressor(TREES, np.eye(2)[:, :1], 1, 1 << 30), {"trees": "sign"}, "more than the .* that are allowed"),
        (drawn.regressor([("LEQ", 4, [0.5], 0, 1)], np.eye(2)[:, :1], 1), {"trees": "sign"}, "compares feature 4"),
        (drawn.classifier(TREES, [[(1, 0.1)], [(1, 0.9)]], 1, [5, 7]), {"trees": "sign"}, "of the second class.*runtimes"),
        (drawn.classifier(TREES, [[(0, 0.1)], [(0, 0.9)]], 1, [5]), {"trees": "sign"}, "1 names of classes.*runtimes"),
        (drawn.classifier(TREES, [[(0, 0.1), (1, 0.9)]] * 2, 1, [5, 7]), {"trees": "sign"}, r"two that have a score each.*outputs="),
        (drawn.classifier(TREES, [[(0, -0.1)], [(2, -0.9)]], 1, [5, 7, 9]), {"trees": "exact"}, "some have no score"),
    ],
)  # fmt: skip
def test_what_is_refused(of, options, told) -> None:
    if "trees" in options and "samples=" not in told:
        options = {**options, "samples": np.array([[0.0], [1.0]])}
    with pytest.raises((UnsupportedError, ShapeError), match=told):
        lw.from_onnx(of, **options)


@pytest.mark.parametrize("damage", ["cycle", "root", "lost", "twice", "lengths", "mode"])
def test_damaged_trees_are_refused(damage) -> None:
    of = drawn.regressor([("LEQ", 0, [0.5], ("LEQ", 0, [0.2], 0, 1), 2)], np.eye(3)[:, :1], 1)
    given = {a.name: a for a in of.graph.node[0].attribute}
    if damage == "cycle":
        given["nodes_truenodeids"].ints[1] = 1
    if damage == "root":
        given["nodes_falsenodeids"].ints[0] = 0
    if damage == "lost":
        given["nodes_falsenodeids"].ints[0] = 77
    if damage == "twice":
        given["nodes_nodeids"].ints[2] = 3
    if damage == "lengths":
        given["nodes_values"].floats.pop()
    if damage == "mode":
        given["nodes_modes"].strings[0] = b"BRANCH_NEAR"
    with pytest.raises(UnsupportedError, match=r"TreeEnsembleRegressor.*export it again"):
        lw.from_onnx(of, trees="sign", samples=np.array([[0.0], [1.0]]))


def test_what_comes_before_exact_trees_is_cut_off() -> None:
    part = drawn.regressor(TREES, np.eye(2)[:, :1], 1).graph.node[0]
    part.input[0] = "h"
    of = model(
        [helper.make_node("Mul", ["x", "two"], ["h"]), part],
        {"x": [1, 1]},
        ["y"],
        [array("two", np.array([2.0]))],
        ml=3,
    )
    x = np.array([[0.0], [1.0]])
    with pytest.raises(UnsupportedError, match=r"other nodes come before it.*inputs=\['h'\]"):
        lw.from_onnx(of, trees="exact", samples=x)
    circuit = lw.from_onnx(of, {"h": (1, 1)}, inputs=["h"], trees="exact", samples=x)
    assert np.ravel(circuit.finished([circuit(row) for row in circuit.encoded(x)])).tolist() == [1.0, 0.0]
    assert finish_exact(circuit.results, {"sums": np.array([1.0])})[0].tolist() == [[1.0]]


@pytest.mark.parametrize("options", [{"trees": "both"}, {"gap": 2.0}, {"digits": 0}, {"mark": 1}, {"mark": False}])
def test_options_are_checked_as_of_the_other_importer(options) -> None:
    with pytest.raises(UserError, match="from_onnx: "):
        lw.from_onnx(drawn.regressor(TREES, np.eye(2)[:, :1], 1), **options)

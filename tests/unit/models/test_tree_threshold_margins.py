"""Trees by signs: results of rows close to a threshold are within a wider bound, or not certain, and others are neither."""

import contextlib
import copy
from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.errors import UnsupportedError, UserError
from latticework.functions.approximation.sign import composite_sign
from latticework.models.converters import Converter, Converters
from latticework.models.evaluate_graph import run
from latticework.models.sklearn import SklearnProgram
from latticework.models.sklearn.estimator_semantics import CONVERTERS
from latticework.plan.client_steps.run_steps import errors_of, finish_of
from latticework.plan.client_steps.step import Array, Bounded

pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

GAP = 2.0**-5
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "regressor": DecisionTreeRegressor(max_depth=7, random_state=1),
    "forest": RandomForestClassifier(7, max_depth=4, random_state=2),
    "forest-regressor": RandomForestRegressor(5, max_depth=6, random_state=3),
    "extra": ExtraTreesRegressor(4, max_depth=6, random_state=4),
    "boosting": GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=5),
    "histograms": HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=9, min_samples_leaf=3),
    "scaled": make_pipeline(StandardScaler(), RandomForestRegressor(4, max_depth=4, random_state=6)),
    "voting": VotingClassifier(
        [("a", RandomForestClassifier(3, max_depth=3, random_state=7)), ("b", DecisionTreeClassifier(max_depth=4))],
        voting="soft",
    ),
    "stacked": StackingRegressor(
        [("a", RandomForestRegressor(3, max_depth=3, random_state=8)), ("b", Ridge())], Ridge(), cv=2
    ),
}


def data(seed: int, rows: int = 80) -> tuple[Array, Array, Array]:
    """Rows of four features, a class of three, and a number."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, 4))
    number = x[:, 0] * x[:, 1] + np.sign(x[:, 2]) - 0.7 * (x[:, 3] > 0.3)
    return x, np.digitize(number, (-0.8, 0.6)), number


def imported(name: str, gap: float = GAP) -> tuple[object, SklearnProgram, Array]:
    x, kinds, numbers = data(len(name))
    is_classifier = name in ("tree", "forest", "boosting", "voting")
    fitted = copy.deepcopy(MODELS[name]).fit(x, kinds if is_classifier else numbers)
    method = {"tree": "predict", "boosting": "decision_function"}.get(
        name, "predict_proba" if is_classifier else "predict"
    )
    return fitted, lw.from_sklearn(fitted, method, trees="sign", samples=x, gap=gap), x


def near_thresholds(program: SklearnProgram, x: Array, count: int, seed: int) -> Array:
    """Rows with one, two or three features moved into the gap of a threshold, or to its edges."""
    rng = np.random.default_rng(seed)
    splits = []
    for node in program.graph.nodes:
        if node.operator == "trees":
            sizes = [program._option(node, name) for name in ("feature", "threshold", "side", "scale")]
            feature, threshold, _, scale = (np.asarray(v)[np.asarray(sizes[2]) != 0] for v in sizes)
            splits += list(zip(feature, threshold, scale, strict=True))
    rows = x[rng.integers(len(x), size=count)].copy()
    for row in rows:
        for feature, threshold, scale in (splits[i] for i in rng.integers(len(splits), size=rng.integers(1, 4))):
            row[feature] = threshold + rng.choice([-1.01, -1, 1, 1.01, *rng.uniform(-1, 1, 4)]) * GAP / scale
    return rows


def by_signs(program: SklearnProgram, x: Array) -> dict[str, Array]:
    """The outputs of a program in NumPy, with composite signs within 2^-14 where the compiled program has signs."""
    sign = composite_sign(GAP, 1.2, 2.0**-14)

    def trees(x, feature, threshold, side, scale, weight, bias, gap, is_single, clear, spread):
        bits = np.where(side == 0, 1.0, 0.5 + 0.5 * sign((x[:, feature] - threshold) * side * scale))
        comes = bits.prod(axis=1)
        return comes @ np.asarray(weight).T + bias, clear - np.sum(comes * (1 - comes), axis=1)

    others = [converter for converter in CONVERTERS if converter.operator != "trees"]
    graph = replace(program.graph, inputs=(replace(program.graph.inputs[0], shape=x.shape),))
    found = run(graph, Converters([*others, Converter("trees", trees)]), {"x": x})
    return dict(zip(program.output_shapes, found, strict=True))


def decrypted_exactly(program: SklearnProgram, x: Array) -> Array:
    """What would be decrypted, but for errors."""
    graph = replace(program.graph, inputs=(replace(program.graph.inputs[0], shape=x.shape),))
    return run(graph, CONVERTERS, {"x": x})[0]


def finished(program: SklearnProgram, outputs: dict[str, Array], errors: dict[str, float]) -> tuple[Bounded, Array]:
    """A result with the bounds that it has, and where nothing is in doubt."""
    result = program.owner.after[0]
    clear = result.doubt.has_none(outputs["result1"], errors["result1"])
    return finish_of(result, outputs, errors), clear


@pytest.mark.parametrize("name", MODELS)
def test_every_row_is_within_its_bound(name: str) -> None:
    """Of composite signs in NumPy: most rows have features in the gaps of thresholds, or at their edges."""
    _, program, x = imported(name)
    rows = near_thresholds(program, x, 2000, 9) if name != "scaled" else data(99, 2000)[0]
    exact = program(rows)
    found, clear = finished(program, by_signs(program, rows), {"result0": 1e-3, "result1": 1e-2})
    off = found.value != exact if found.certain is not None else np.abs(found.value - exact)
    assert np.all((errors_of(found) == np.inf) | (off <= errors_of(found)))
    assert 0.05 < clear.mean() < 0.95
    if found.certain is None:
        of_rows = errors_of(found).reshape(len(rows), -1)
        least = 1e-3 + 2e-2 * program.owner.after[0].doubt.weight.array.max()
        assert of_rows[clear].max() <= 1.001 * least < of_rows.max() / 5
    assert clear[program.keeps_apart(rows, everywhere=False)].all()


def planted() -> tuple[SklearnProgram, Array]:
    """A tree that asks for x0 > 0, then x1 > 0 on the left and x2 > 0 on the right, then x3 > 0 below each."""
    x = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    x = np.concatenate([x, 0.8 * x])
    left, right = (x[:, 1] > 0) * 2.0 + (x[:, 3] > 0), 5 + (x[:, 2] > 0) * 4.0 + 2 * (x[:, 3] > 0)
    fitted = DecisionTreeRegressor(max_depth=3).fit(x, np.where(x[:, 0] > 0, right, left))
    return lw.from_sklearn(fitted, trees="sign", samples=x, gap=GAP), x


@pytest.mark.parametrize("column", range(4))
def test_which_rows_are_marked(column: int) -> None:
    """A feature in the gap of the first, the middle and the last comparison of its path; of one beside it; at edges."""
    program, _ = planted()
    places = np.array([0.0, 0.2, -0.5, 0.9999, 1.0001, -1.0001]) * GAP
    rows = np.full((6, 4), 0.9)
    rows[:, column] = places
    found, clear = finished(program, by_signs(program, rows), {"result0": 1e-3, "result1": 1e-2})
    is_asked = column != 1
    assert clear.tolist() == [not is_asked] * 3 + [True] * 3  # at the edge signs are as right as beyond it
    assert np.all(np.abs(found.value - program(rows)) <= errors_of(found))
    assert (errors_of(found)[:2] > 0.5).all() == is_asked


def compiled(program: SklearnProgram, x: Array) -> tuple[lw.Model, dict[str, float]]:
    """A model that returns what is decrypted, without the steps of the owner, and its bounds."""
    raw = copy.copy(program)
    raw.owner = None
    calibrate = x[program.keeps_apart(x)]
    if len(calibrate) < 10:
        more = np.random.default_rng(1).uniform(x.min(0), x.max(0), (5000, x.shape[1]))
        calibrate = more[program.keeps_apart(more)]
    model = lw.compile(raw, calibrate=calibrate, precision_bits=8, ring_degree=4096, insecure=True, progress=False)
    return model, {output.name: output.error_bound for output in model.plan.client.outputs}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree", "forest", "forest-regressor", "boosting", "histograms", "voting", "stacked"])
def test_simulated_rows_are_within_their_bounds(name: str) -> None:
    fitted, program, x = imported(name)
    model, errors = compiled(program, x)
    rows = near_thresholds(program, x, 300, 11)
    values = model.simulate(rows, noise=np.random.default_rng(0))
    found, _ = finished(program, dict(zip(errors, values, strict=True)), errors)
    exact = getattr(fitted, program.method)(rows)
    off = errors_of(found)
    wrong = found.value != exact if found.certain is not None else np.abs(found.value - exact) > off
    assert not (wrong & (off < np.inf)).any()
    assert (
        np.abs(values[0] - decrypted_exactly(program, rows)).max() > errors["result0"]
    )  # else there is nothing to mark


def test_encrypted() -> None:
    """Through the client: one row in doubt does not take the bounds of others."""
    program, x = planted()
    model = lw.compile(program, calibrate=x, precision_bits=7, ring_degree=4096, insecure=True, progress=False)
    client = model.client(threads=1)
    rows = np.array([[0.9, 0.0, -0.9, 0.9], [0.9, 0.9, 0.0, 0.9], [0.0, 0.9, 0.9, -0.9], [-0.9, 0.9, 0.5, 0.9]])
    got = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(rows)))
    assert got.is_certain.tolist() == [True, False, False, True] and got.shape == (4,)
    assert np.all(np.abs(got.reveal() - program(rows)) <= got.error_bounds)
    assert got.error_bounds[[0, 3]].max() < 0.8 < 1 < got.error_bounds[[1, 2]].min() and got.error_bound < 20
    assert "2 of 4 numbers NOT CERTAIN" in got.doubt() and "is_certain" not in program.notes[0]


@pytest.mark.parametrize("scaled", [True, False])
def test_features_out_of_range_are_not_certain(scaled: bool) -> None:
    """Where a column is narrower than what is accepted of all: signs beyond their range are decided, and wrong."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(-1, 1, 400), rng.uniform(-40, 40, 400)], 1)
    x = x[np.abs(x[:, 0]) > 0.1]
    fitted = DecisionTreeRegressor(max_depth=1).fit(x, x[:, 0] > 0)
    program = lw.from_sklearn(fitted, trees="sign", samples=x, gap=2.0**-4)
    with contextlib.nullcontext() if scaled else pytest.warns(lw.ApproximationWarning, match="or out of its range"):
        model = lw.compile(
            program, calibrate=x[program.keeps_apart(x)], precision_bits=7, ring_degree=4096, insecure=True,
            progress=False, scale_columns=scaled,
        )  # fmt: skip
    client = model.client(threads=1)
    row = np.array([[0.5 if scaled else 1.24, 3.0]])  # the latter is refused where columns have ranges of their own
    got = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(row)))
    within = np.abs(got.reveal() - fitted.predict(row)) <= got.error_bounds
    assert got.is_certain.all() == within.all() == scaled
    assert scaled or "keep their gap and range" in got.doubt()


def test_without_marks() -> None:
    x, kinds, _ = data(3)
    fitted = DecisionTreeClassifier(max_depth=2).fit(x, kinds)
    program = lw.from_sklearn(fitted, trees="sign", samples=x, gap=GAP, mark=False)
    assert "NOTHING MARKS" in program.notes[-1] and list(program.output_shapes) == ["result"]
    for options in ({"mark": None, "trees": "sign"}, {"mark": False}, {"mark": False, "trees": "exact"}):
        with pytest.raises(UserError, match="mark="):
            lw.from_sklearn(fitted, samples=x, **options)


def test_what_cannot_be_marked_is_refused() -> None:
    x, _, numbers = data(4)
    parts = [("a", DecisionTreeRegressor(max_depth=2))]
    fitted = StackingRegressor(parts, DecisionTreeRegressor(max_depth=2), cv=2).fit(x, np.exp(numbers))
    with pytest.raises(UnsupportedError, match="mark=False: then NOTHING marks"):
        lw.from_sklearn(fitted, trees="sign", samples=x, gap=GAP)
    assert lw.from_sklearn(fitted, trees="sign", samples=x, gap=GAP, mark=False).owner is None


def test_a_gap_finer_than_float32_is_refused() -> None:
    """Features are rounded before they are compared: so far from 0 that decides more than the gap."""
    x, _, numbers = data(5)
    fitted = DecisionTreeRegressor(max_depth=2).fit(x + 2**22, numbers)
    with pytest.raises(UnsupportedError, match="float32"):
        lw.from_sklearn(fitted, trees="sign", samples=x + 2**22, gap=GAP)


@pytest.mark.slow
def test_share_of_marked_rows() -> None:
    """Of the breast cancer data, by a forest with a gap of 2^-8: as documented."""
    x, y = load_breast_cancer(return_X_y=True)
    fitted = RandomForestClassifier(8, max_depth=4, random_state=0).fit(x, y)
    program = lw.from_sklearn(fitted, trees="sign", samples=x, gap=2.0**-8)
    model, errors = compiled(program, x)
    values = model.simulate(x, noise=np.random.default_rng(0))
    found, clear = finished(program, dict(zip(errors, values, strict=True)), errors)
    assert np.array_equal(found.value[found.certain], fitted.predict(x)[found.certain])
    shares = clear.mean(), found.certain.mean(), program.keeps_apart(x, everywhere=False).mean()
    assert np.allclose(shares, (0.74, 0.97, 0.69), atol=0.01)

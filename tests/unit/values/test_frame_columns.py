"""Columns of frames are taken by name wherever frames enter; the oracle is the estimator on the frame in its order."""

import warnings

import numpy as np
import pytest

import latticework as lw
from latticework.errors import ColumnsError, DtypeError, FormatError, ShapeError
from latticework.plan.client_steps import Affine, Given, OwnerArray, OwnerStages, Piece, Prepared
from latticework.plan.files.check_file import check_client
from latticework.plan.files.serialise import read_client, write_client
from latticework.values.inputs.column_names import in_order, names_of

pd = pytest.importorskip("pandas")
linear_model = pytest.importorskip("sklearn.linear_model")
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import FeatureUnion, make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler  # noqa: E402

NAMES = ["age", "dose", "weight"]
OTHER = ["weight", "dose", "age"]
SMALL = {"ring_degree": 2048, "insecure": True, "progress": False, "precision_bits": 8}
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(120, 3)), columns=NAMES)
CLASSES = (FRAME.age - 2 * FRAME.dose > 0).astype(int)
ROWS = FRAME.iloc[:20]


@lw.program
def weighted(x: lw.Secret[1, 3]):
    return x @ np.array([1.0, -2.0, 0.5])


def fitted(kind=linear_model.LogisticRegression, data=FRAME):
    return kind().fit(data, CLASSES)


def compiled(program, **more):
    return lw.compile(program, **{"calibrate": FRAME, **SMALL, **more})


def run(model, *given, **named):
    client = model.client(threads=1, allow_insecure=True)
    server = model.server(client.keygen().public(), threads=1)
    return client.decrypt(server(client.encrypt(*given, **named)))


@pytest.fixture(scope="module")
def model():
    """A program without an estimator, named by its calibration."""
    return compiled(weighted)


def wanted(frame):
    return frame[NAMES].to_numpy() @ np.array([1.0, -2.0, 0.5])


def test_an_estimator_is_given_its_own_columns():
    estimator = fitted()
    model = compiled(lw.from_sklearn(estimator, "predict"))
    found = run(model, ROWS[OTHER])
    assert (found.reveal() == estimator.predict(ROWS)).all()


@pytest.mark.parametrize("calibrate", [FRAME, FRAME[OTHER], FRAME.to_numpy()], ids=["named", "reordered", "array"])
def test_calibration_follows_the_estimator(calibrate):
    estimator = fitted()
    program = lw.from_sklearn(estimator, "decision_function")
    one, other = (compiled(program, calibrate=data).plan.client for data in (FRAME, calibrate))
    assert one.columns_of("x") == other.columns_of("x") == tuple(NAMES)
    assert [(i.low, i.high) for i in one.inputs] == [(i.low, i.high) for i in other.inputs]


def pipelines():
    by_name = ColumnTransformer([("a", StandardScaler(), ["weight", "age"]), ("b", MinMaxScaler(), ["dose"])])
    by_place = ColumnTransformer([("a", StandardScaler(), [2, 0])], remainder="passthrough")
    mixed = ColumnTransformer([("a", StandardScaler(), ["dose"]), ("b", "passthrough", [0])])
    for first in (StandardScaler(), by_name, by_place, mixed, "passthrough"):
        yield make_pipeline(first, linear_model.LogisticRegression())
    yield GridSearchCV(make_pipeline(StandardScaler(), linear_model.LogisticRegression()), {}, cv=2)
    yield make_pipeline("passthrough", make_pipeline(by_name, linear_model.Ridge()))


@pytest.mark.parametrize("number", range(7))
def test_programs_in_the_clear_take_columns_by_name(number):
    estimator = list(pipelines())[number].fit(FRAME, CLASSES)
    method = "decision_function" if hasattr(estimator, "decision_function") else "predict"
    program = lw.from_sklearn(estimator, method)
    expected = getattr(estimator, method)(FRAME)
    np.testing.assert_allclose(program(FRAME[OTHER]), expected, rtol=1e-9)
    np.testing.assert_allclose(program(x=FRAME[OTHER]), expected, rtol=1e-9)
    np.testing.assert_allclose(program(FRAME.to_numpy()), expected, rtol=1e-9)
    takes_others = "ColumnTransformer" in repr(estimator)
    with pytest.raises(ColumnsError, match="missing: age" + ("" if takes_others else "; unknown: height")):
        program(FRAME.rename(columns={"age": "height"}))


@pytest.mark.parametrize("door", ["plaintext", "simulate"])
def test_models_in_the_clear_take_columns_by_name(model, door):
    np.testing.assert_allclose(np.ravel(getattr(model, door)(ROWS[OTHER])), wanted(ROWS), atol=1e-6)


def test_calibration_names_columns_of_programs(model):
    assert model.plan.client.columns == (("x", tuple(NAMES)),)
    found = run(model, ROWS[OTHER])
    assert (np.abs(found.reveal() - wanted(ROWS)) <= found.error_bound).all()
    assert np.abs(run(model, ROWS.to_numpy()).reveal() - wanted(ROWS)).max() <= found.error_bound  # by position


def test_other_doors_of_a_client(model, tmp_path):
    path = tmp_path / "m.lwclient"
    model.client(allow_insecure=True).save(path)
    client = lw.Client.load(path, threads=1, allow_insecure=True)
    server = model.server(client.keygen().public(), threads=1)
    found = client.decrypt(server(client.encrypt_part(x=ROWS[OTHER]))).reveal()
    assert np.abs(found - wanted(ROWS)).max() < 0.05
    assert model.debug(ROWS[OTHER].iloc[:1]).first_off is None
    report = model.accuracy(ROWS[OTHER], wanted(ROWS), 2, progress=False)
    assert all(column.score > 0.99 for column in report.columns)


def test_labels_score_reordered_calibration():
    model = compiled(lw.from_sklearn(fitted()), calibrate=FRAME[OTHER], labels=CLASSES)
    assert model.scores.exact == fitted().score(FRAME, CLASSES)


REFUSED = {
    "missing": (ROWS[["age", "dose"]], "missing: weight"),
    "unknown": (ROWS.assign(height=1.0), "unknown: height"),
    "renamed": (ROWS.rename(columns={"dose": "amount"}), "missing: dose; unknown: amount"),
    "twice": (pd.concat([ROWS, ROWS[["age"]]], axis=1), "given twice: age"),
    "numbers": (ROWS.set_axis([2, 0, 1], axis=1), "missing: age, dose, weight; unknown: 2, 0, 1"),
    "levels": (ROWS.set_axis(pd.MultiIndex.from_tuples([("a", n) for n in NAMES]), axis=1), "missing: age"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_columns_are_refused_before_anything_is_encrypted(model, name):
    given, told = REFUSED[name]
    for door in (model.client(allow_insecure=True).encrypt, model.plaintext, lambda x: model.accuracy(x, None, 0)):
        with pytest.raises(ColumnsError, match=f"program weighted, input x has other columns .*{told}"):
            door(given)


def test_columns_without_names_are_taken_by_position(model):
    numbered = pd.DataFrame(ROWS.to_numpy())
    np.testing.assert_allclose(np.ravel(model.plaintext(numbered)), wanted(ROWS), atol=1e-6)
    unnamed = compiled(weighted, calibrate=numbered)
    assert unnamed.plan.client.columns == ()
    np.testing.assert_allclose(
        np.ravel(unnamed.plaintext(ROWS)), wanted(ROWS), atol=1e-6
    )  # nothing is known of its names


def test_numbers_in_another_order_are_neither_names_nor_places(model):
    shuffled = pd.DataFrame(ROWS.to_numpy())[[2, 0, 1]]
    unnamed = compiled(weighted, calibrate=ROWS.to_numpy())
    with pytest.raises(ColumnsError, match="numbered 2, 0, 1"):
        unnamed.plaintext(shuffled)
    with pytest.raises(ColumnsError, match="numbered 2, 0, 1"):
        compiled(weighted, calibrate=shuffled)


@pytest.mark.parametrize(
    "labels", [[10, 20, 30], [("a", 1), ("a", 2), ("b", 1)], [1.5, "x", None]], ids=["integers", "levels", "mixed"]
)
def test_names_need_not_be_texts(labels):
    index = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else labels
    frame = FRAME.set_axis(index, axis=1)
    model = compiled(weighted, calibrate=frame)
    np.testing.assert_allclose(np.ravel(model.plaintext(frame.iloc[:20, [2, 0, 1]])), wanted(ROWS), atol=1e-6)


def test_names_that_stand_twice_keep_their_order():
    frame = FRAME.set_axis(["a", "a", "b"], axis=1)
    model = compiled(weighted, calibrate=frame)
    np.testing.assert_allclose(np.ravel(model.plaintext(frame.iloc[:20])), wanted(ROWS), atol=1e-6)
    with pytest.raises(ColumnsError, match="some have the same name"):
        model.plaintext(frame.iloc[:20, [2, 0, 1]])


def test_single_rows_are_taken_by_their_index():
    @lw.program
    def of_one(x: lw.Secret[3]):
        return x @ np.array([1.0, -2.0, 0.5])

    model = compiled(of_one)
    row = ROWS.iloc[3]
    for given in (row[OTHER], row.to_numpy(), row.reset_index(drop=True), row[OTHER].to_numpy()[::-1]):
        np.testing.assert_allclose(np.ravel(model.plaintext(given)), wanted(ROWS)[3], atol=1e-6)
    rows = [ROWS.iloc[3][OTHER], ROWS.iloc[4], ROWS.iloc[5].to_numpy()]
    np.testing.assert_allclose(np.ravel(model.plaintext(rows)), wanted(ROWS)[3:6], atol=1e-6)
    with pytest.raises(ColumnsError, match="missing: weight"):
        model.plaintext(row.rename({"weight": "mass"}))
    named = compiled(of_one, calibrate=[ROWS.iloc[i] for i in range(8)])
    assert named.plan.client.columns_of("x") == tuple(NAMES)


def test_circuits_are_named_by_calibration():
    @lw.circuit
    def total(x: lw.vector(3)):
        return x[0] - 2 * x[1] + x[2] / 2

    model = lw.compile(total, calibrate=FRAME, ring_degree=2048, insecure=True, progress=False)
    assert model.plan.client.columns == (("x", tuple(NAMES)),)
    np.testing.assert_allclose(np.ravel(model.plaintext(ROWS[OTHER])), wanted(ROWS), atol=1e-6)
    found = run(model, ROWS[OTHER])
    np.testing.assert_allclose(found.reveal(), wanted(ROWS), atol=0.05)
    check_client(read_client(write_client(model.plan.client)))


def test_steps_of_the_owner_are_given_their_columns():
    stages = OwnerStages(
        given=(Given("plant", (1, 3), tuple(NAMES)),),
        before=(Prepared("x", (Piece("plant", (Affine(OwnerArray.of([2.0, 1.0, 4.0]), OwnerArray.of([0.0] * 3)),)),)),),
    )
    model = compiled(weighted, owner=stages, calibrate=FRAME[OTHER])
    expected = ROWS.to_numpy() * [2.0, 1.0, 4.0] @ np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(np.ravel(model.plaintext(ROWS[OTHER])), expected, atol=1e-6)
    with pytest.raises(ColumnsError, match="calibrate: plant has other columns"):
        compiled(weighted, owner=stages, calibrate=FRAME.rename(columns={"age": "height"}))


@pytest.mark.parametrize("trees", ["sign", "exact"])
def test_trees_take_samples_and_rows_by_name(trees):
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(FRAME, CLASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.ApproximationWarning)
        program, other = (lw.from_sklearn(forest, trees=trees, samples=data) for data in (FRAME, FRAME[OTHER]))
    assert (program.keeps_apart(FRAME[OTHER]) == other.keeps_apart(FRAME.to_numpy())).all()
    if trees == "exact":
        np.testing.assert_array_equal(program.encoded(ROWS[OTHER]), other.encoded(ROWS.to_numpy()))
        with pytest.raises(ColumnsError, match="encoded: what is given has other columns"):
            program.encoded(ROWS.rename(columns={"age": "height"}))
    else:
        np.testing.assert_allclose(program(ROWS[OTHER]), other(ROWS.to_numpy()))


def test_records_of_numpy_are_frames(model):
    records = ROWS[OTHER].to_records(index=False)
    np.testing.assert_allclose(np.ravel(model.plaintext(records)), wanted(ROWS), atol=1e-6)
    assert compiled(weighted, calibrate=FRAME[OTHER].to_records(index=False)).plan.client.columns_of("x") == tuple(
        OTHER
    )
    with pytest.raises(DtypeError, match="no columns of numbers"):
        in_order(np.zeros(2, [("a", "M8[D]"), ("b", float)]), ("a", "b"), "x")


class Table:
    """A table as Arrow has it: names apart from columns, which are arrays."""

    def __init__(self, frame):
        self.frame, self.column_names, self.columns = frame, list(frame), [frame[name] for name in frame]

    def select(self, names):
        return Table(self.frame[names])

    def __array__(self, dtype=None, copy=None):
        return self.frame.to_numpy()


class Lists:
    """A frame that only names its columns and becomes an array."""

    def __init__(self, frame):
        self.frame, self.columns = frame, tuple(frame)

    def __array__(self, dtype=None, copy=None):
        return self.frame.to_numpy()


@pytest.mark.parametrize("kind", [Table, Lists])
def test_frames_of_other_packages(model, kind):
    assert names_of(kind(ROWS[OTHER]), "x") == tuple(OTHER)
    np.testing.assert_allclose(np.ravel(model.plaintext(kind(ROWS[OTHER]))), wanted(ROWS), atol=1e-6)


def test_files_without_names_are_the_same_bytes(model):
    spec = model.plan.client
    plain = compiled(weighted, calibrate=FRAME.to_numpy()).plan.client
    named, unnamed = write_client(spec), write_client(plain)
    assert b"weight" + b"ed" in unnamed
    assert b"dose" in named
    assert b"dose" not in unnamed
    assert write_client(spec.with_columns({})) == unnamed


@pytest.mark.parametrize(
    "columns", [(("x", ("a",)),), (("y", ("a", "b", "c")),), (("x", ("a", "b", "c")), ("x", ("a", "b", "c")))]
)
def test_files_with_unfit_names_are_refused(model, columns):
    from dataclasses import replace

    with pytest.raises(FormatError, match="names of columns"):
        check_client(replace(model.plan.client, columns=columns))


def test_explaining_a_client_file_tells_its_columns(model, tmp_path):
    from latticework.report.describe_file import explain_file, file_facts

    model.client(allow_insecure=True).save(tmp_path / "m.lwclient")
    assert "of x: age, dose, weight" in explain_file(tmp_path / "m.lwclient")
    assert file_facts(tmp_path / "m.lwclient")["columns"] == {"x": NAMES}


def test_the_command_line_takes_records_by_name(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from latticework import cli

    def call(*words):
        done = CliRunner().invoke(cli.app, list(map(str, words)))
        return done.exit_code, done.output

    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(
        "import numpy as np, latticework as lw\n\n\n@lw.program\n"
        "def weighted(x: lw.Secret[1, 3]):\n    return x @ np.array([1.0, -2.0, 0.5])\n"
    )
    np.save("data.npy", FRAME[NAMES].to_records(index=False))
    np.save("x.npy", ROWS[OTHER].to_records(index=False))
    np.save("y.npy", ROWS.rename(columns={"dose": "amount"}).to_records(index=False))
    compiling = ("compile", "program.py", "--calibrate", "data.npy", "--ring-degree", 2048, "--insecure")
    assert call(*compiling, "--precision-bits", 8)[0] == 0
    assert call("keygen", "model.lwclient", "--insecure")[0] == 0
    assert call("encrypt", "model.lwclient", "x.npy", "--insecure")[0] == 0
    (tmp_path / "keys" / "evaluation.lwkeys").rename("for-server.lwkeys")
    assert call("run", "model.lwplan", "inputs.lwct", "-k", "for-server.lwkeys", "-o", "out.lwct")[0] == 0
    assert call("decrypt", "model.lwclient", "out.lwct", "--insecure", "-o", "found.npy")[0] == 0
    np.testing.assert_allclose(np.load("found.npy").ravel(), wanted(ROWS), atol=0.05)
    status, told = call("encrypt", "model.lwclient", "y.npy", "--insecure", "--force")
    assert status == 1 and "missing: dose; unknown: amount" in told


def test_named_tuples_are_rows_with_names():
    """As `frame.itertuples(index=False)` gives them: alone, in lists, and as calibration."""
    frame = pd.DataFrame(np.random.default_rng(3).normal(size=(40, 3)), columns=["age", "dose", "weight"])
    other = frame[["weight", "age", "dose"]]

    @lw.program
    def weighted(x: lw.Secret[3]):
        return x @ np.array([1.0, -2.0, 5.0])

    wanted = frame.to_numpy() @ [1.0, -2.0, 5.0]
    for calibrate in (frame, list(frame.itertuples(index=False))):
        model = lw.compile(weighted, calibrate=calibrate, precision_bits=8, ring_degree=2048, insecure=True)
        client = model.client(threads=1)
        server = model.server(client.keygen().public(), threads=1)
        for given in (list(other.itertuples(index=False)), other):
            found = client.decrypt(server(client.encrypt(given)))
            assert np.abs(found.reveal() - wanted).max() <= found.error_bound
        assert (
            abs(client.decrypt(server(client.encrypt(next(other.itertuples(index=False))))).reveal() - wanted[0]) < 0.1
        )
        with pytest.raises(lw.errors.ColumnsError, match="unknown: Index"):
            client.encrypt(list(other.itertuples()))


def test_a_series_as_example_names_columns():
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(40, 3)), columns=["weight", "dose", "age"])

    @lw.program
    def weighted(x: lw.Secret[3]):
        return x @ np.array([1.0, -2.0, 5.0])

    for example in (frame.iloc[0], {"x": frame.iloc[0]}):
        model = lw.compile(
            weighted, calibrate=frame.to_numpy(), example=example, precision_bits=8, ring_degree=2048, insecure=True
        )
        assert model.plan.client.columns_of("x") == ("weight", "dose", "age")


def test_exact_trees_are_for_bfv():
    from sklearn.tree import DecisionTreeClassifier

    x = np.random.default_rng(5).uniform(-1, 1, (60, 3))
    fitted = DecisionTreeClassifier(max_depth=2).fit(x, x[:, 0] > 0)
    with pytest.raises(lw.UserError, match="give scheme='bfv'"):
        lw.compile(lw.from_sklearn(fitted, "predict", trees="exact", samples=x))


@pytest.mark.parametrize("estimator", ["numbers", "cells"])
def test_one_row_by_itself_is_told_how_to_be_given(estimator):
    frame = FRAME.assign(wing=np.where(FRAME.age > 0, "left", "right"))
    if estimator == "numbers":
        frame, fit = frame[NAMES], fitted()
    else:
        first = ColumnTransformer([("a", StandardScaler(), NAMES), ("b", OneHotEncoder(), ["wing"])])
        fit = make_pipeline(first, linear_model.LogisticRegression()).fit(frame, CLASSES)
    model = compiled(lw.from_sklearn(fit), calibrate=frame)
    client = model.client(threads=1, allow_insecure=True)
    server = model.server(client.keygen().public(), threads=1)
    for given in (frame.iloc[0], frame.iloc[0].to_numpy()):
        for door in (client.encrypt, client.check, model.simulate):
            with pytest.raises(ShapeError, match=r"one row keeps its axis of rows: give rows\[:1\], of .*iloc\[:1\]"):
                door(given)
    with pytest.raises(ColumnsError, match=r"one row as a dictionary; give a list of rows, \[row\]"):
        client.encrypt(frame.iloc[0].to_dict())
    for given in (frame.iloc[:1], [frame.iloc[0].to_dict()]):
        assert client.decrypt(server(client.encrypt(given))).reveal() == fit.predict(frame.iloc[:1])


OTHERS = FRAME.assign(wing=np.where(FRAME.age > 0, "left", "right"))
BY_NAME = ColumnTransformer([("a", StandardScaler(), ["dose", "age"]), ("b", "passthrough", ["weight"])])
OF_CELLS = ColumnTransformer([("a", StandardScaler(), NAMES), ("b", OneHotEncoder(), ["wing"])])


@pytest.mark.parametrize(
    "first",
    [
        BY_NAME, OF_CELLS, ColumnTransformer([("a", StandardScaler(), [1])], remainder="passthrough"), StandardScaler(),
        FeatureUnion([("a", BY_NAME), ("b", OF_CELLS)]), FeatureUnion([("a", BY_NAME), ("b", StandardScaler())]),
    ],
    ids=["numbers", "cells", "remainder", "scaler", "union", "mixed union"],
)  # fmt: skip
def test_other_columns_are_left_out_where_scikit_learn_leaves_them_out(first, tmp_path):
    """The oracle is the estimator: what it takes is taken, with the same results, and what it refuses is refused."""
    data = OTHERS if "wing" in repr(first) else FRAME
    estimator = make_pipeline(first, linear_model.LogisticRegression()).fit(data, CLASSES)
    frame = data.assign(extra="x")[["extra", *data.columns[::-1]]]
    model = compiled(lw.from_sklearn(estimator), calibrate=data)
    model.client(allow_insecure=True).save(tmp_path / "m.lwclient")
    client = lw.Client.load(tmp_path / "m.lwclient", allow_insecure=True)
    try:
        expected = estimator.predict(frame)
    except ValueError:
        with pytest.raises(ColumnsError, match="unknown: extra"):
            client.check(frame)
        return
    assert client.check(frame).fits
    assert np.array_equal(model.simulate(frame)[0], expected)
    assert np.array_equal(compiled(lw.from_sklearn(estimator), calibrate=frame).simulate(frame)[0], expected)
    with pytest.raises(ColumnsError, match="missing: age"):
        client.check(frame.drop(columns="age"))

"""Programs whose owner computes before encryption and after decryption: results, bounds, ranges, files, refusals."""

import dataclasses
import json

import numpy as np
import pytest
from hostile_text import is_harmless_page, is_harmless_text, planted
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import latticework as lw
from latticework import _core, cli
from latticework.errors import DtypeError, FormatError, RangeError, ShapeError, TraceError, UserError
from latticework.plan.client_steps import (
    Affine,
    ByName,
    Columns,
    Doubt,
    Elementary,
    Extreme,
    Finished,
    Given,
    Labels,
    OneHot,
    OwnerArray,
    OwnerStages,
    Piece,
    Prepared,
    Reshape,
    Softmax,
    TableRows,
    Threshold,
)
from latticework.plan.client_steps.run_steps import accepted_spans
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan
from latticework.report import explain_file
from latticework.report.build import build_client_report
from latticework.report.describe_file import file_facts

SMALL = {"ring_degree": 4096, "insecure": True, "progress": False}
KINDS = Labels.of(["iris", "rose", "tulip"])
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(5, 3))


@lw.program
def scores(x: lw.Secret[2, 5], w):
    return x @ w


@pytest.fixture(scope="module")
def flowers():
    """Texts and numbers in one table: two columns scaled, one one-hot; classes and probabilities by name."""
    numbers = Piece("plant", (Columns(-1, 3, (0, 2)), Affine(OwnerArray.of([0.01, 2.0]), OwnerArray.of([-1.0, 0.0]))))
    kinds = Piece("plant", (Columns(-1, 3, (1,)), OneHot(Labels.of(["dry", "moist", "wet"])), Reshape((1, 3), (3,))))
    stages = OwnerStages(
        (Given("plant", (2, 3), ("height", "soil", "leaves")),),
        (Prepared("x", (numbers, kinds)),),
        (
            Finished("kind", "result", (Extreme(KINDS),)),
            Finished("probability", "result", (Softmax(), ByName(KINDS))),
        ),
    )
    model = lw.compile(scores, weights=(WEIGHTS,), owner=stages, calibrate=table(40), **SMALL)
    client = model.client(threads=1)
    return model, client, model.server(client.keygen().public(), threads=1)


def table(rows):
    """Rows with a text among numbers."""
    found = np.empty((rows, 3), dtype=object)
    found[:, 0], found[:, 2] = RNG.uniform(50, 150, rows), RNG.uniform(-1, 1, rows)
    found[:, 1] = RNG.choice(["dry", "moist", "wet"], rows)
    return found


def expected(rows):
    x = np.zeros((len(rows), 5))
    x[:, 0], x[:, 1] = rows[:, 0].astype(float) / 100 - 1, rows[:, 2].astype(float) * 2
    for place, name in enumerate(["dry", "moist", "wet"]):
        x[:, 2 + place] = rows[:, 1] == name
    return x @ WEIGHTS


@pytest.mark.parametrize("rows", [2, 5])
def test_results_are_those_of_numpy(flowers, rows):
    model, client, server = flowers
    given = table(rows)
    found = client.decrypt(server(client.encrypt(given)))
    wanted = expected(given)
    kind, probability = found["kind"], found["probability"]
    assert np.abs(kind.numbers.reveal() - wanted).max() <= kind.numbers.error_bound
    np.testing.assert_array_equal(kind.reveal()[kind.is_certain], KINDS.array[wanted.argmax(-1)][kind.is_certain])
    exact = np.exp(wanted) / np.exp(wanted).sum(-1, keepdims=True)
    assert 0 < np.abs(probability.as_array() - exact).max() <= probability.error_bound < 0.1
    assert [list(row) for row in probability.reveal()] == [["iris", "rose", "tulip"]] * rows
    for computed in (model.plaintext(given), model.simulate(plant=given)):
        assert computed[0].tolist() == KINDS.array[wanted.argmax(-1)].tolist()
        assert np.isclose(computed[1][1]["rose"], exact[1, 1])
    if rows == 2:
        assert model.debug(given, client=client).first_off is None


def test_values_are_hidden_and_named(flowers):
    model, client, server = flowers
    found = client.decrypt(server(client.encrypt(table(2))))
    assert "FinishedValue(shape (2,), hidden" in repr(found["kind"]) and "rose" not in repr(found["kind"])
    with pytest.raises(Exception, match="hidden"):
        np.asarray(found["kind"])
    assert model.plan.client.given_names == ["plant"] and model.plan.client.result_names == ["kind", "probability"]


def test_raw_values_are_refused_in_the_owners_terms(flowers):
    _, client, _ = flowers
    for row, column, value, kind, message in (
        (
            1,
            1,
            "sand",
            RangeError,
            r"input plant, row 1, column 1 \(soil\) is none of the categories dry, moist, wet",
        ),
        (1, 0, "tall", RangeError, r"row 1, column 0 \(height\) is no number"),
        (0, 2, np.nan, RangeError, r"row 0, column 2 \(leaves\) is no finite number"),
        (1, 2, 30.0, RangeError, r"row 1, column 2 \(leaves\) is outside -1.* to 1.*, as calibrated"),
    ):
        given = table(2)
        given[row, column] = value
        with pytest.raises(kind, match=message):
            client.encrypt(given)
    with pytest.raises(ShapeError, match=r"input plant has shape \(2, 4\); the program takes \(2, 3\)"):
        client.encrypt(np.ones((2, 4)))
    with pytest.raises(TraceError, match="has the inputs plant; missing: plant; unknown or given twice: x"):
        client.encrypt(x=np.ones((2, 5)))
    with pytest.raises(DtypeError, match="rows of different lengths"):
        client.encrypt([[1, "dry", 3], [1]])


def test_stages_are_in_files(flowers, tmp_path):
    model, client, server = flowers
    model.save(tmp_path / "model.lwplan")
    client.save(tmp_path / "model.lwclient")
    assert lw.load(tmp_path / "model.lwplan").plan.client == read_client(tmp_path / "model.lwclient") == client.spec
    again = lw.Client.load(tmp_path / "model.lwclient", allow_insecure=True, threads=1)
    again.use_secret_key(client._secret)
    given = table(2)
    assert np.array_equal(again.decrypt(server(again.encrypt(given)))["kind"].reveal(), model.plaintext(given)[0])
    assert write_plan(read_plan(write_plan(model.plan))) == write_plan(model.plan)


def test_stages_of_a_file_have_to_fit(flowers):
    spec = flowers[1].spec
    stages = spec.owner
    numbers, kinds = stages.before[0].pieces
    huge = Piece("plant", (TableRows(OwnerArray.of(np.ones((2, 1 << 16)))), TableRows(OwnerArray.of(np.ones((2, 99))))))
    for changed in (
        dataclasses.replace(stages, given=()),
        dataclasses.replace(stages, given=(*stages.given, Given("y", (2,)))),
        dataclasses.replace(stages, given=(Given("plant", (1 << 40, 3)),)),
        dataclasses.replace(stages, given=(Given("plant", (2, 3), ("a",)),)),
        dataclasses.replace(stages, before=(Prepared("z", (numbers, kinds)),)),
        dataclasses.replace(stages, before=(Prepared("x", ()),)),
        dataclasses.replace(stages, before=(Prepared("x", (numbers,)),)),
        dataclasses.replace(stages, before=(Prepared("x", (numbers, kinds), dim=-2),)),
        dataclasses.replace(stages, before=(Prepared("x", (huge, kinds)),)),
        dataclasses.replace(stages, before=(Prepared("x", (numbers, kinds), (Softmax(),)),)),
        dataclasses.replace(stages, after=(Finished("a", "nothing"),)),
        dataclasses.replace(stages, after=(Finished("a", "result"), Finished("a", "result"))),
        dataclasses.replace(stages, after=(Finished("a", "result", (Extreme(), Softmax())),)),
        dataclasses.replace(stages, after=(Finished("a", "result", (OneHot(KINDS),)),)),
        dataclasses.replace(stages, after=(Finished("a", "result", (Softmax(dim=-2),)),)),  # of rows
        dataclasses.replace(stages, after=(Finished("a", "result", (Elementary("exp"),) * 65),)),
        dataclasses.replace(stages, after=(Finished("a", "result", (), Doubt("nothing", 0.0, OwnerArray.of(1.0))),)),
        dataclasses.replace(
            stages, after=(Finished("a", "result", (), Doubt("result", 0.0, OwnerArray.of([1.0, 1.0]))),)
        ),
        OwnerStages(),
    ):
        with pytest.raises(FormatError, match=r"plan: (steps of|there are steps|.* not finite)"):
            read_client(write_client(dataclasses.replace(spec, owner=changed)))


def test_altered_steps_of_a_file_are_refused(flowers):
    data = write_client(flowers[1].spec)
    reader = _core.ContainerReader(data, kinds=[2])
    meta = _core.cbor_decode(reader.section(0))

    def read(change):
        document = _core.cbor_decode(reader.section(0))
        change(document[11])
        written = _core.write_container(
            None, 2, reader.parameters, reader.header, [(1, bytes(_core.cbor_encode(document)))]
        )
        return read_client(bytes(written))

    assert read(lambda owner: None) == flowers[1].spec and meta[11][2][0][2][0][0] == "extreme"
    scale = ["affine", [[1 << 40], bytes(8)], [[1], bytes(8)]]

    def put(step):
        return lambda owner: owner[2][0].__setitem__(2, [step])

    for step in (
        ["eval", "print(1)"],
        ["extreme", 5],
        [],
        "softmax",
        ["softmax", 0],
        ["softmax", -(2**62)],
        scale,
        ["affine", [[2], bytes(16)], [[2], b"\xff" * 16]],  # NaN
        ["threshold", float("nan"), None],
        ["by_name", [["a"] * 3, None, False]],
        ["largest", 1 << 62],
        ["reshape", [2, 3], [1 << 32, 1 << 32]],
        ["one_hot", [["a"], None, False]],
    ):
        with pytest.raises(FormatError):
            read(put(step))


def test_reports_tell_the_stages_and_what_the_client_learns(flowers, tmp_path):
    model, client, _ = flowers
    path = tmp_path / "model.lwclient"
    client.save(path)
    work = json.loads(model.report().json())["owner"]
    assert work["before"][1]["steps"] == ["1 of 3 columns", "one-hot of 3 categories", "reshape (1, 3) to (3,)"]
    assert [r["column"] for r in work["ranges"]] == [0, 2] and work["ranges"][0]["low"] < 50
    for text in (str(model.report()), explain_file(path), model.report().html()):
        told = " ".join(text.split())
        assert "encrypts x from plant" in told and "label of the largest along axis -1" in told
        assert "categories (dry, moist, wet); names of classes (iris, rose, tulip)." in told and "2 leaves" in told
    assert file_facts(path)["inputs"] == ["plant"] and file_facts(path)["outputs"] == ["kind", "probability"]


def test_names_of_stages_are_shown_harmlessly(flowers):
    _, client, _ = flowers
    owner = planted(client.spec.owner, "owner", {name: name for name in ("x", "result")})
    hostile = read_client(write_client(dataclasses.replace(client.spec, owner=owner)))
    report = build_client_report(hostile)
    assert is_harmless_text(report.text()) and is_harmless_page(report.html()) and "FORGED" in report.text()


def test_the_command_line_takes_what_the_owner_has(tmp_path):
    after = (Finished("kind", "result", (Extreme(KINDS),)), Finished("chance", "result", (Softmax(), ByName(KINDS))))
    x = RNG.normal(size=(40, 5)) * [1, 1e3, 1, 1, 1e-3]
    model = lw.compile(
        scores, weights=(WEIGHTS / x.std(0)[:, None],), calibrate=x, owner=OwnerStages(after=after), scale_columns=True,
        **SMALL,
    )  # fmt: skip
    plan, client, keys, given = (tmp_path / n for n in ("m.lwplan", "m.lwclient", "keys", "x.npy"))
    model.save(plan)
    model.client().save(client)
    np.save(given, x[:3])
    inside = ["-k", keys, "--insecure"]

    def run(*words):
        done = CliRunner().invoke(cli.app, list(map(str, words)))
        assert done.exit_code == 0, done.output
        return done.output

    run("keygen", client, "-o", keys, "--insecure")
    run("encrypt", client, given, "-o", tmp_path / "in", *inside)
    run("run", plan, tmp_path / "in", "-k", keys / "evaluation.lwkeys", "-o", tmp_path / "out")
    wanted = model.plaintext(x[:3])
    printed = run("decrypt", client, tmp_path / "out", *inside)
    assert ", ".join(wanted[0]) in printed and printed.count("{'iris': ") == 3
    told = json.loads(run("decrypt", "--json", client, tmp_path / "out", *inside))["outputs"]
    assert told["kind"]["values"] == wanted[0].tolist() and told["kind"]["certain"] == [True] * 3
    assert list(told["chance"]["values"][0]) == ["iris", "rose", "tulip"]
    run("decrypt", client, tmp_path / "out", "-o", tmp_path / "y.npz", *inside)
    with np.load(tmp_path / "y.npz") as saved:
        assert saved["kind"].tolist() == wanted[0].tolist() and saved["chance"].shape == (3, 3)


def test_columns_are_scaled_to_their_own_ranges():
    """Raw columns of breast-cancer data, whose ranges differ by 10^5, without a level more than scaled ones."""
    data = load_breast_cancer()
    x, columns = data.data, data.feature_names
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, data.target)
    scaler, logistic = fitted
    weights = (logistic.coef_ / scaler.scale_).T
    bias = logistic.intercept_ - (scaler.mean_ / scaler.scale_) @ logistic.coef_.T

    @lw.program
    def logit(x: lw.Secret[16, 30], w, b):
        return x @ w + b

    stages = OwnerStages(
        (Given("x", (16, 30), tuple(columns)),), (Prepared("x", (Piece("x"),)),),
        (
            Finished("kind", "result", (Reshape((1,), ()), Threshold(0.0, Labels.of(data.target_names)))),
            Finished("probability", "result", (Elementary("sigmoid"),)),
        ),
    )  # fmt: skip
    model = lw.compile(
        logit, weights=(weights, bias), calibrate=x, owner=stages, scale_columns=True, precision_bits=14, progress=False
    )
    assert model.plan.client.levels_spent == 1
    client = model.client(threads=1)
    found = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(x)))
    kind, probability = found["kind"], found["probability"]
    assert kind.reveal().tolist() == data.target_names[fitted.predict(x)].tolist()
    assert np.abs(probability.reveal()[:, 0] - fitted.predict_proba(x)[:, 1]).max() <= probability.error_bound < 2**-10
    changed = x[:20].copy()
    changed[17, 3] = 1e5
    with pytest.raises(RangeError, match=r"row 17, column 3 \(mean area\) is outside -92.25 to 2736"):
        client.encrypt(changed)


def test_constant_columns_and_margins():
    @lw.program
    def total(x: lw.Secret[1, 3], w):
        return x @ w

    data = np.array([[1e-3, 7.0, 5e4], [3e-3, 7.0, 6e4], [2e-3, 7.0, 1e4]])
    w = np.array([[1e3], [1.0], [1e-4]])
    model = lw.compile(total, weights=(w,), calibrate=data, scale_columns=True, **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    for row in (data[0], [3.1e-3, 7.6, 9e3]):
        y = client.decrypt(server(client.encrypt([row])))
        assert abs(y.reveal()[0, 0] - np.dot(row, w[:, 0])) <= y.error_bound < 0.01
    for row, column in (([3.3e-3, 7, 5e4], 0), ([2e-3, 7.8, 5e4], 1), ([2e-3, 7, 0.0], 2)):
        with pytest.raises(RangeError, match=rf"input x, row 0, column {column} is"):
            client.encrypt([row])
    plain = lw.compile(total, weights=(w,), calibrate=data, **SMALL)
    assert plain.plan.client.owner is None


def test_ranges_of_huge_inputs_are_not_spelled_out():
    huge = (1 << 13, 1 << 13)
    stages = OwnerStages((Given("x", huge),), (Prepared("x", (Piece("x", (Elementary("exp"),)),)),))
    assert accepted_spans(stages, {"x": (0.0, 1.0)}) == {}
    small = OwnerStages((Given("x", (1, 3)),), (Prepared("x", (Piece("x", (Elementary("exp"),)),)),))
    low, high = accepted_spans(small, {"x": (1.0, np.e)})["x"]
    assert low.tolist() == [[0, 0, 0]] and np.allclose(high, 1)


def test_what_is_encrypted_as_one_comes_together():
    pieces = (Piece("a"), Piece("b"))
    stages = OwnerStages((Given("a", (2, 2)), Given("b", (2, 3))), (Prepared("x", pieces),))
    model = lw.compile(scores, weights=(WEIGHTS,), owner=stages, calibrate=(np.ones((2, 2)), np.ones((2, 3))), **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    with pytest.raises(TraceError, match="a, b are encrypted as one; encrypt b in the same part"):
        client.encrypt_part(a=np.ones((2, 2)))
    a, b = RNG.uniform(0.9, 1.1, (5, 2)), RNG.uniform(0.9, 1.1, (5, 3))
    for encrypted in (client.encrypt_part(a=a, b=b), client.encrypt(a, b)):
        y = client.decrypt(server(encrypted))
        assert np.abs(y.reveal() - np.hstack([a, b]) @ WEIGHTS).max() <= y.error_bound
    with pytest.raises(ShapeError, match=r"a of shape \(5, 2\), b of shape \(4, 3\) do not go together"):
        client.encrypt(a, b[:4])
    with pytest.raises(RangeError, match=r"input b, row 3, column 1 is outside 0.9 to 1.1"):
        client.encrypt(a, np.where(np.arange(15).reshape(5, 3) == 10, 9, b))


def test_steps_along_rows_leave_no_batch():
    stages = OwnerStages(after=(Finished("best", "result", (Extreme(dim=-2),)),))
    model = lw.compile(scores, weights=(WEIGHTS,), owner=stages, **SMALL)
    assert model.plan.client.batch is None
    assert lw.compile(scores, weights=(WEIGHTS,), **SMALL).plan.client.batch is not None


def test_stages_that_do_not_fit_the_program_are_refused():
    wrong = OwnerStages(after=(Finished("a", "result", (Extreme(Labels.of([1, 2])),)),))
    with pytest.raises(UserError, match=r"program scores: steps of the owner: 2 labels of an axis of 3"):
        lw.compile(scores, weights=(WEIGHTS,), owner=wrong, **SMALL)
    with pytest.raises(UserError, match=r"owner=\[\]; give latticework.owner.OwnerStages"):
        lw.compile(scores, weights=(WEIGHTS,), owner=[], **SMALL)


def joining(pieces, given):
    """x joined of several given values, and y as it is given."""
    shapes = {"a": (2,), "b": (2,)}
    return OwnerStages(
        tuple(Given(name, shapes[name]) for name in given),
        (Prepared("x", tuple(Piece(name) for name in pieces)),),
    )


@lw.program
def weighted(x: lw.Secret[4], y: lw.Secret[1]):
    return x * np.arange(1.0, 5.0) + y


def test_arguments_without_one_order_are_given_by_name():
    """Pieces in another order than they are declared in: one after the other they could be taken for each other."""
    a, b, y = np.array([0.1, 0.2]), np.array([0.3, 0.4]), np.array([0.5])
    expected = np.concatenate([b, a]) * np.arange(1.0, 5.0) + y
    turned = joining("ba", "ab")
    with pytest.raises(TraceError, match=r"calibrate: .* read b, a, y in another order than they declare.* dictionary"):
        lw.compile(weighted, owner=turned, calibrate=(b[None], a[None], y[None]), **SMALL)
    model = lw.compile(weighted, owner=turned, calibrate={"a": a[None], "b": b[None], "y": y[None]}, **SMALL)
    with pytest.raises(
        TraceError, match=r"in another order than they declare them in; give them by name: b=\.\.\., a="
    ):
        model.simulate(a, b, y)
    assert np.allclose(model.simulate(a=a, b=b, y=y)[0], expected, atol=1e-4)
    straight = lw.compile(weighted, owner=joining("ba", "ba"), scale_columns=True, **SMALL,
                          calibrate=([b, -b], [a, -a], [y, -y]))  # fmt: skip
    assert np.allclose(straight.simulate(b, a, y)[0], expected, atol=1e-4)

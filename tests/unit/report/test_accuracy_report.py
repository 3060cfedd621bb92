"""Reports on accuracy: columns, agreement and lines against networks written in NumPy, and data unlike calibration."""

import json

import numpy as np
import pytest

import latticework as lw
from latticework.errors import ApproximationWarning, FormatError, RangeError, ShapeError, TraceError, UserError
from latticework.runtime.client.client import Client

SMALL = {"ring_degree": 2048, "insecure": True}
HALF = 2.0  # of the interval of the fourth power
RNG = np.random.default_rng(5)
W1, W2 = RNG.normal(size=(6, 4)) / 4, RNG.normal(size=(4, 3))
DATA = RNG.uniform(-1, 1, size=(100, 6))


@lw.approximate
def fourth(x):
    return x**4


def by_hand(x):
    """The cubic closest to x^4 on [-2, 2], by Chebyshev: 4 x^2 - 2, off by 2."""
    return HALF**2 * x**2 - HALF**4 / 8


@lw.program
def net(x: lw.Secret[1, 6], w1, w2):
    h = x @ w1
    a = fourth(h, degree=3, range=(-HALF, HALF))
    b = lw.tanh(a, range=(-3, 6))
    return b @ w2


@pytest.fixture(scope="module")
def model():
    with pytest.warns(lw.ApproximationWarning):
        return lw.compile(net, weights=(W1, W2), calibrate=DATA, precision_bits=10, **SMALL)


def exact(x):
    return np.tanh((x @ W1) ** 4) @ W2


def approximated(x):
    return np.tanh(by_hand(x @ W1)) @ W2


def column(report, name):
    (found,) = [c for c in report.columns if c.name == name]
    return found


def test_columns_are_those_of_a_network_in_numpy(model):
    labels = np.argmax(exact(DATA), axis=1)
    report = model.accuracy(DATA, labels, encrypted=3)
    assert [c.name for c in report.columns] == ["float", "approximated", "simulated", "encrypted"]
    itself, polynomials, noisy, encrypted = report.columns
    assert np.allclose(itself.results[0], exact(DATA)) and itself.score == 1.0 and itself.agreement is None
    expected, tanh = approximated(DATA), model.plan.approximations[1].max_error * np.abs(W2).sum(axis=0).max()
    assert np.abs(polynomials.results[0] - expected).max() <= tanh
    assert abs(polynomials.error - np.abs(expected - exact(DATA)).max()) <= tanh
    decided = np.argmax(expected, axis=1)
    assert polynomials.agreement == polynomials.score == np.mean(decided == labels) < 1
    assert polynomials.differing == tuple(np.flatnonzero(decided != labels))
    noise = model.plan.client.outputs[0].usual_error
    assert noisy.rows == polynomials.rows == tuple(range(100)) and len(encrypted.rows) == 3
    assert 0 < np.abs(noisy.results[0] - polynomials.results[0]).max() < noise
    assert np.abs(encrypted.results[0] - polynomials.results[0][list(encrypted.rows)]).max() < noise
    assert not itself.results[0].flags.writeable


def test_the_layer_that_loses_is_the_first_line_that_is_off(model):
    report = model.accuracy(DATA, encrypted=1)
    for each in report.columns[1:]:
        off = each.first_off
        assert off.text.startswith("a = fourth(h") and off.name == "fourth"
        assert off.allowed == 2.0**-10 * model.plan.client.outputs[0].magnitude < off.moves
    row = report.columns[1].first_off.row
    assert np.isclose(report.columns[1].first_off.error, np.abs(by_hand(DATA[row] @ W1) - (DATA[row] @ W1) ** 4).max())
    assert report.columns[0].first_off is None


def test_the_planted_layer_takes_the_largest_share(model):
    report = model.accuracy(DATA, encrypted=2)
    fourth_line, tanh_line = (line for line in report.lines if line.function is not None)
    bad, good = fourth_line.function, tanh_line.function
    h = DATA @ W1
    assert fourth_line.text.startswith("a = fourth") and bad.share > 0.99 > 0.01 > good.share
    assert np.isclose(bad.share + good.share + report.noise_share, 1.0)
    assert np.allclose((bad.low, bad.high), (h.min(), h.max())) and bad.interval == (-HALF, HALF)
    assert (bad.degree, bad.given, bad.outside) == ((3,), True, 0) and 2 <= bad.max_error < 2.03
    assert np.isclose(bad.reached_error, np.abs(by_hand(h) - h**4).max())
    assert list(bad.counts) == np.histogram(h, 40, (-HALF, HALF))[0].tolist()
    alone = np.abs(np.tanh(by_hand(h)) @ W2 - exact(DATA)).max() / model.plan.client.outputs[0].magnitude
    assert np.isclose(bad.effect, alone)  # the worst row is among those that are run
    assert good.effect <= good.max_error * np.abs(W2).sum(axis=0).max() / model.plan.client.outputs[0].magnitude
    assert np.isclose((tanh_line.low, tanh_line.high), (np.tanh(h**4).min(), np.tanh(h**4).max())).all()
    approximated_error, simulated_error, encrypted_error = fourth_line.errors
    assert np.isclose(approximated_error, bad.reached_error) and approximated_error >= encrypted_error > 0
    assert abs(simulated_error - approximated_error) < 1e-3


def test_a_step_more_of_degree_is_what_compiling_with_it_gives(model):
    (line, _) = (line for line in model.accuracy(DATA[:8], encrypted=0).lines if line.function is not None)
    step = line.function.step
    assert (step.degree, step.levels, step.larger_ring) == (7, 1, None) and step.max_error < 1e-9 and step.seconds > 0

    @lw.program
    def more(x: lw.Secret[1, 6], w1, w2):
        a = fourth(x @ w1, degree=step.degree, range=(-HALF, HALF))
        return lw.tanh(a, range=(-3, 6)) @ w2

    better = lw.compile(more, weights=(W1, W2), calibrate=DATA, precision_bits=10, **SMALL)
    assert better.plan.client.levels_spent == model.plan.client.levels_spent + step.levels
    products = [m.report().execution.estimate.counts.ciphertext_products for m in (model, better)]
    assert products[1] - products[0] == step.products


def test_precise_programs_have_no_line_that_is_off():
    @lw.program
    def precise(x: lw.Secret[6]):
        return lw.sigmoid(x @ W1)

    report = lw.compile(precise, calibrate=DATA, precision_bits=10, **SMALL).accuracy(DATA, encrypted=2)
    assert [c.first_off for c in report.columns] == [None] * 4 and report.unlike == ()
    assert all(c.agreement == 1.0 for c in report.columns[1:]) and "every result is as precise" in str(report)
    assert np.allclose(report.columns[0].results[0], 1 / (1 + np.exp(-(DATA @ W1))))


def test_one_class_of_a_hundred():
    """Of 4 x^2 - 2 and x^4, one is above 1 and the other below only where |x| is between sqrt(3)/2 and 1."""
    x = np.concatenate([np.linspace(-0.8, 0.8, 60), np.linspace(1.1, 1.8, 39), [0.95]])[:, None]

    @lw.program
    def above(x: lw.Secret[1, 1]):
        return fourth(x[:, 0], degree=3, range=(-HALF, HALF)) - 1

    with pytest.warns(lw.ApproximationWarning):
        model = lw.compile(above, calibrate=x, precision_bits=6, **SMALL)
    report = model.accuracy(x, (np.abs(x[:, 0]) > 1).astype(int), encrypted=2)
    polynomials = column(report, "approximated")
    assert (polynomials.agreement, polynomials.score, polynomials.differing) == (0.99, 0.99, (99,))
    assert column(report, "float").score == 1.0 and column(report, "simulated").agreement == 1.0
    assert "99 %" in str(report) and "row 99" in str(report)


def test_the_encrypted_column_is_what_is_decrypted_by_hand(model, monkeypatch, tmp_path):
    client, sent = model.client(), []
    server = model.server(client.keygen(tmp_path / "keys").public())
    monkeypatch.delattr(Client, "public_keys")  # no other keys are made
    encrypt = Client.encrypt_checked
    monkeypatch.setattr(Client, "encrypt_checked", lambda self, i: sent.append(encrypt(self, i)) or sent[-1])
    encrypted = column(model.accuracy(DATA, encrypted=4, client=client, server=server), "encrypted")
    by_hand = [client.decrypt(server(each)).reveal() for each in sent]
    assert encrypted.rows == (0, 33, 66, 99) and np.array_equal(encrypted.results[0], np.concatenate(by_hand))
    off = np.abs(np.concatenate(by_hand) - exact(DATA[list(encrypted.rows)]))
    assert np.isclose(encrypted.error, off.max(), rtol=1e-9)


@pytest.mark.parametrize("options", [{"server": "a server"}, {"client": None}])
def test_a_server_is_given_with_the_client_of_its_keys(model, options):
    client = model.client()
    given = {"client": client, "server": model.server(client.keygen().public())} | options
    with pytest.raises(lw.UserError, match="give a Server of this model, and the Client whose keys it has"):
        model.accuracy(DATA, encrypted=1, **given)


def test_rows_unlike_calibration_are_named_and_refused_ones_left_out(model):
    data = DATA.copy()
    data[[7, 40], 2] = 9.0
    data[11, 0] = np.nan
    data[:, 5] = 0.25
    report = model.accuracy(data, np.argmax(exact(np.nan_to_num(data)), axis=1), encrypted=0)
    assert report.refused == (7, 11, 40) and [c.name for c in report.columns] == ["float", "approximated", "simulated"]
    assert [len(c.rows) for c in report.columns] == [99, 97, 97] and 7 in report.columns[0].rows
    kinds = {kind: [each for each in report.unlike if each.kind == kind] for kind in ("refused", "constant")}
    assert [each.rows for each in kinds["refused"]] == [(7,), (11,), (40,)] and "9" in kinds["refused"][0].said
    assert "column 5" in kinds["constant"][0].said and column(report, "approximated").float_score == 1.0
    with pytest.raises(RangeError, match="no row of the data can be computed; the first: .*NaN"):
        model.accuracy(np.full((2, 6), np.nan))
    far = model.accuracy(np.full((2, 6), 99.0))
    assert [c.name for c in far.columns] == ["float"] and far.refused == (0, 1)


def test_arguments_that_leave_their_interval_are_named():
    @lw.program
    def summed(x: lw.Secret[1, 6]):
        return lw.sigmoid(4 * x.sum(axis=1), degree=15)

    model = lw.compile(
        summed, calibrate=DATA[:40] * np.sign(np.random.default_rng(6).normal(size=6)), precision_bits=4, **SMALL
    )
    data = DATA.copy()
    data[3], data[50] = 0.95, -0.95
    low, high = model.plan.approximations[0].low, model.plan.approximations[0].high
    outside = np.flatnonzero((4 * data.sum(axis=1) < low) | (4 * data.sum(axis=1) > high))
    report = model.accuracy(data, encrypted=0)
    (said,) = [each for each in report.unlike if each.kind == "argument"]
    assert said.rows == tuple(outside) and {3, 50} <= set(outside) and "sigmoid" in said.said
    assert column(report, "approximated").first_off.row in (3, 50)


def test_signs_of_several_polynomials_and_numbers_in_their_gap():
    @lw.program
    def signs(x: lw.Secret[1, 4]):
        return lw.sign(x, gap=0.05).sum(axis=1)

    rng = np.random.default_rng(1)
    data = rng.uniform(0.1, 1, size=(20, 4)) * rng.choice([-1, 1], size=(20, 4))
    with pytest.warns(ApproximationWarning, match="closer to 0 than its gap"):
        model = lw.compile(signs, calibrate=data, precision_bits=6, **SMALL)
    data[3, 1] = 0.01
    report = model.accuracy(data, encrypted=1)
    assert np.array_equal(report.columns[0].results[0], np.sign(data).sum(axis=1))
    (line,) = [line for line in report.lines if line.function is not None]
    assert len(line.function.degree) > 1 and line.function.reached_error < 2.0**-5
    (said,) = report.unlike
    assert said.rows == (3,) and "within gap=0.05 of 0" in said.said and report.columns[1].first_off.row == 3
    assert report.columns[1].differing == (3,)


def test_batches_stacks_and_numbers():
    @lw.program
    def batch(x: lw.Secret[8, 6], w1):
        return lw.tanh(x @ w1)

    goal = np.tanh(DATA @ W1)
    model = lw.compile(batch, weights=(W1,), calibrate=DATA, precision_bits=8, **SMALL)
    report = model.accuracy(DATA[:21], goal[:21] + 0.01, encrypted=11)
    assert report.unit == "row" and [len(c.rows) for c in report.columns] == [21, 21, 21, 11]
    spread = ((goal[:21] - goal[:21].mean(axis=0)) ** 2).sum()
    assert report.measure == "R^2" and np.isclose(report.columns[0].score, 1 - goal[:21].size * 1e-4 / spread)
    assert np.allclose(report.columns[0].results[0], goal[:21]) and all(c.agreement == 1 for c in report.columns[1:])
    stack = model.accuracy(DATA[:16].reshape(2, 8, 6), encrypted=1)
    assert (stack.unit, stack.rows, stack.columns[3].rows) == ("run", 2, (0,))
    with pytest.raises(ShapeError, match=r"labels have shape \(5,\), and the data have 21 rows"):
        model.accuracy(DATA[:21], np.zeros(5))
    with pytest.raises(RangeError, match="labels hold NaN or infinity, first for row 4"):
        model.accuracy(DATA[:21], np.where(np.arange(21)[:, None] == 4, np.nan, goal[:21]))
    with pytest.raises(ShapeError, match="rows 2 have other shapes"):
        model.accuracy([[0.0] * 6, [0.0] * 6, [0.0] * 5])


def test_forms_and_keys_that_stay(model, tmp_path):
    report = model.accuracy(DATA[:10], encrypted=1)
    report.save(tmp_path / "report.json")
    found = json.loads((tmp_path / "report.json").read_text())
    assert {"format", "name", "precision_bits", "rows", "unit", "measure", "decision", "tolerance", "columns", "unlike", "lines", "noise_share",
            "seed", "refused"} <= set(found)  # fmt: skip
    assert set(found["columns"][1]) == {
        "name", "rows", "score", "float_score", "agreement", "differing", "error", "relative", "first_off"
    }  # fmt: skip
    assert found["columns"][1]["error"] == report.columns[1].error and found["measure"] is None
    report.save(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == str(report) and "score" not in str(report).splitlines()[3]
    assert all(len(line) <= 100 for line in str(report).splitlines())
    assert model.accuracy(DATA[:10], encrypted=0, seed=3) == model.accuracy(DATA[:10], encrypted=0, seed=3)
    with pytest.raises(FormatError):
        report.save(tmp_path / "report.pdf")


def test_the_page_draws_shares_scores_and_arguments(model, tmp_path):
    report = model.accuracy(DATA, np.argmax(exact(DATA), axis=1), encrypted=1)
    report.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page and "http" not in page
    polynomials, (bad, _) = report.columns[1], [line.function for line in report.lines if line.function is not None]
    for colour, part in (("switch", polynomials.score), ("add", polynomials.agreement), ("product", bad.share)):
        assert f'class="b-{colour}" style="width:{100 * part:.3f}%"' in page
    assert page.count("<rect") == sum(np.count_nonzero(f.counts) for f in (x.function for x in report.lines) if f)
    assert (
        "a = fourth(h, degree=3, range=(-HALF, HALF))" in page and f"{bad.counts[20]} arguments from 0 to 0.1" in page
    )


def test_models_without_a_program_say_what_is_needed(model, tmp_path):
    model.save(tmp_path / "net.lwplan")
    loaded = lw.load(tmp_path / "net.lwplan", allow_insecure=True)
    with pytest.raises(TraceError, match="loaded from a file, which holds no program.*compile the program again"):
        loaded.accuracy(DATA)
    with pytest.raises(UserError, match="encrypted=-1; give a number of rows"):
        model.accuracy(DATA, encrypted=-1)


def test_progress_is_told(model):
    events = []
    model.accuracy(DATA[:6], encrypted=2, on_event=events.append)
    assert {e.op for e in events} == {"float", "approximated", "simulated", "encrypted", "effects"}
    assert [e.done for e in events if e.op == "encrypted"] == [1, 2] and events[0].stage == "accuracy, float"


def test_rows_of_a_batch_are_told_as_single_ones(model):
    """Values in between lie in vectors that several rows share: each row gets its own."""
    with pytest.warns(lw.ApproximationWarning):
        batch = lw.compile(net, weights=(W1, W2), calibrate=DATA, precision_bits=10, batch=4, **SMALL)
    alone, together = (each.accuracy(DATA[:30], encrypted=2) for each in (model, batch))
    for a, b in zip(alone.columns, together.columns, strict=True):
        assert (a.name, a.rows) == (b.name, b.rows)
        assert a.error == pytest.approx(b.error, abs=2e-3)
    for a, b in zip(alone.lines, together.lines, strict=True):
        assert (a.name, a.low, a.high) == (b.name, pytest.approx(b.low), pytest.approx(b.high))
        for ours, theirs in zip(a.errors, b.errors, strict=True):
            assert (ours is None) == (theirs is None) and (ours is None or ours == pytest.approx(theirs, abs=2e-3))

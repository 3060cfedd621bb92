"""Networks whose functions become parabolas by unit, folded into weights, where decisions or a tolerance allow it."""

from itertools import product

import numpy as np
import pytest

import latticework as lw

RNG = np.random.default_rng(7)
W1, B1 = RNG.normal(size=(6, 10)) / 2, RNG.normal(size=10) / 2
W2, B2 = RNG.normal(size=(10, 7)) / 3, RNG.normal(size=7) / 3
W3, B3 = RNG.normal(size=(7, 3)), RNG.normal(size=3)
WEIGHTS = W1, B1, W2, B2, W3, B3
DATA = RNG.normal(size=(512, 6))


@lw.program
def network(x: lw.Secret[6], w1, b1, w2, b2, w3, b3):
    """Two hidden layers."""
    return np.maximum(np.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3


@lw.program
def layer(x: lw.Secret[6], w, b, v, e):
    """One."""
    return lw.relu(x @ w + b) @ v + e


def in_numpy(rows, weights=WEIGHTS):
    """The same of many rows."""
    *hidden, last = zip(weights[::2], weights[1::2], strict=True)
    for w, b in hidden:
        rows = np.maximum(rows @ w + b, 0.0)
    return rows @ last[0] + last[1]


def compiled(program=network, weights=WEIGHTS, rows=DATA, **options):
    return lw.compile(program, weights=weights, calibrate=rows, **{"precision_bits": 8, **options})


def run(model, rows):
    client = model.client()
    return client.decrypt(model.server(client.keygen().public())(client.encrypt(rows)))


def in_the_clear(model, rows):
    """Results with polynomials."""
    return np.stack([np.ravel(model.plaintext(row)) for row in rows])


def are_parabolas(model):
    """Of every function."""
    return [a.degree == 2 and "parabolas" in a.form for a in model.plan.approximations]


@pytest.fixture(scope="module")
def chosen():
    """By decisions."""
    return compiled(agreement=0.8)


@pytest.fixture(scope="module")
def many():
    """The same for rows of a batch, where sending takes little."""
    return compiled(agreement=0.8, batch=512, network=10e9)


def test_a_layer_is_one_square(chosen):
    assert are_parabolas(chosen) == [True, True]
    assert chosen.plan.client.levels_spent == 5  # three matrices and two squares


def test_held_back_rows_agree_as_is_said(chosen):
    held = DATA[3::4]
    equal = np.sum(in_the_clear(chosen, held).argmax(axis=1) == in_numpy(held).argmax(axis=1))
    assert f"of {len(held)} rows held back from calibration {equal} " in chosen.plan.loss and equal >= 0.8 * len(held)


def test_encrypted_it_is_what_it_is_in_the_clear(chosen):
    result = run(chosen, DATA[1])
    assert np.max(np.abs(result.reveal() - in_the_clear(chosen, DATA[1:2]))) < 1e-2
    assert np.max(np.abs(result.reveal() - in_numpy(DATA[1]))) <= result.error_bound


def test_rows_of_a_batch_need_no_key(many):
    plan = many.plan
    assert are_parabolas(many) == [True, True]
    assert plan.keys == () and plan.chain.special == () and plan.chain.ring_degree <= 8192
    result, wanted = run(many, DATA).reveal(), in_the_clear(many, DATA[:40])
    assert np.max(np.abs(result[:40] - wanted)) < 2.0**-8 * np.max(np.abs(in_numpy(DATA)))
    assert np.mean(result.argmax(axis=1) == in_numpy(DATA).argmax(axis=1)) >= 0.8


def test_exact_functions_are_found_behind_the_squares(chosen):
    """In the reference that assessments take apart: results, and arguments of the functions themselves."""
    reference = chosen._reference.assessment.mirror
    seen = {}
    results, _ = reference.run({"x": DATA[5]}, on_argument=lambda n, x: seen.setdefault(n, x))
    assert np.allclose(np.ravel(results[0]), in_numpy(DATA[5]), rtol=0, atol=1e-6)
    assert np.allclose(seen[0], DATA[5] @ W1 + B1, rtol=0, atol=1e-6)
    results, _ = reference.run({"x": DATA[5]}, exact=False)
    assert np.allclose(np.ravel(results[0]), in_the_clear(chosen, DATA[5:6])[0], rtol=0, atol=1e-9)
    told = chosen.accuracy(DATA[:8], progress=False)
    assert told.columns[0].error < 1e-6 < told.columns[1].error


def test_nothing_is_folded_unless_a_loss_is_asked_for():
    with pytest.warns(lw.ApproximationWarning):
        given = compiled(degree=2)
    assert [a.degree for a in given.plan.approximations] == [2, 2] and not any(are_parabolas(given))
    assert given.plan.client.levels_spent == 7
    assert not any(are_parabolas(compiled(precision_bits=4)))


def test_more_agreement_takes_higher_degrees(chosen):
    strict = compiled(agreement=0.95)
    assert not all(are_parabolas(strict)) and strict.plan.client.levels_spent > chosen.plan.client.levels_spent
    held = DATA[3::4]
    assert np.mean(in_the_clear(strict, held).argmax(axis=1) == in_numpy(held).argmax(axis=1)) >= 0.95


def test_without_merged_maps_or_ranges_by_unit_they_are_not_offered():
    assert not any(are_parabolas(compiled(agreement=0.7, techniques=lw.Techniques(merged_maps=False))))
    assert not any(are_parabolas(compiled(agreement=0.7, rows=DATA[:48])))


def unusual_units():
    """Units never on, always on, of a tiny range, constant, 0, huge, hardly ever on or off, and without a bend."""
    rng = np.random.default_rng(1)
    w, b = rng.normal(size=(6, 11)) / 2, np.zeros(11)
    b[0], b[1], b[3] = -100.0, 100.0, 0.5
    w[:, 2] *= 1e-9
    w[:, 3:5] = 0.0
    w[:, 5] *= 1e6
    b[6], b[7] = -0.999 * (DATA @ w[:, 6]).max(), -0.999 * (DATA @ w[:, 7]).min()
    w[:, 8] *= 1e-14
    b[8] = 3.0
    v = rng.normal(size=(11, 3))
    v[5] *= 1e-6
    return w, b, v, rng.normal(size=3)


@pytest.mark.parametrize("batch", [None, 256])
def test_units_of_all_kinds(batch):
    weights = unusual_units()
    model = compiled(layer, weights, tolerance=6.0, batch=batch, precision_bits=10)
    assert are_parabolas(model) == [True]
    rows = DATA[:256] if batch else DATA[9]
    result, exact = run(model, rows), in_numpy(rows, weights)
    assert np.max(np.abs(in_the_clear(model, DATA[3::4]) - in_numpy(DATA[3::4], weights))) <= 6.0
    found, wanted = np.atleast_2d(result.reveal()), in_the_clear(model, np.atleast_2d(rows))
    assert np.max(np.abs(found - wanted)) < 2.0**-10 * np.max(np.abs(in_numpy(DATA, weights)))
    assert np.max(np.abs(result.reveal() - exact)) <= result.error_bound


@pytest.mark.parametrize(
    ("rows", "bias"),
    [(np.ones((64, 6)), 0.0), (np.zeros((64, 6)), 1.0), (DATA[:128], -1e3), (DATA[:128], 1e3)],
    ids=["equal rows", "rows of 0", "all units off", "all units on"],
)
def test_data_that_show_no_bend(rows, bias):
    weights = W1, B1 + bias, W2[:, :3], B3
    model = compiled(layer, weights, rows, tolerance=max(1.0, abs(bias)))
    result, exact = run(model, rows[0]), in_numpy(rows[0], weights)
    assert np.max(np.abs(result.reveal() - in_the_clear(model, rows[:1]))) <= 2.0**-7 * max(1.0, np.abs(exact).max())
    assert np.max(np.abs(result.reveal() - exact)) <= result.error_bound


CORNERS = np.array(list(product([-1.0, 1.0], repeat=6)))
INSIDE = np.concatenate([np.repeat(CORNERS, 4, axis=0), np.random.default_rng(3).uniform(-1, 1, (192, 6))])
UNITS = W1[:, :3], B1[:3], np.eye(3), np.full(3, 50.0)  # bounds that leave less than 3 bits of the largest are not used


@pytest.mark.parametrize("batch", [None, 256])
def test_a_bound_is_proved_where_no_argument_leaves_its_range(batch):
    """Over all arguments that accepted inputs can give each unit; corners of them are among the calibration rows."""
    model = compiled(layer, UNITS, INSIDE, tolerance=4.0, batch=batch)
    spec, (output,) = model.plan.client.secret_inputs[0], model.plan.client.outputs
    assert are_parabolas(model) == [True] and not model.plan.approximations[0].may_leave and output.is_proved
    parts = np.linspace(0.0, 1.0, 85)[:, None, None]
    low, high = np.broadcast_to(spec.low, (3, 6)), np.broadcast_to(spec.high, (3, 6))
    signs = np.sign(UNITS[0].T)
    ends = [np.where(side * signs > 0, high, low) for side in (-1.0, 1.0)]
    rows = ((1.0 - parts) * ends[0] + parts * ends[1]).reshape(-1, 6)
    exact = in_numpy(rows, UNITS)
    assert np.max(np.abs(exact)) <= output.reach
    off = np.max(np.abs(in_the_clear(model, rows) - exact))
    assert 0.2 * output.error_bound < off <= output.error_bound
    if batch:
        result = run(model, np.resize(rows, (256, 6)))
        assert np.max(np.abs(result.reveal() - np.resize(exact, (256, 3)))) <= result.error_bound


def test_arguments_that_may_leave_are_told(chosen, many):
    for model in (chosen, many):
        assert all(a.may_leave for a in model.plan.approximations)
        assert not model.plan.client.outputs[0].is_proved


FILTERS = np.random.default_rng(6).normal(size=(2, 1, 3, 3)) * np.array([0.2, 1.0])[:, None, None, None]
LATER, ENDS = np.random.default_rng(7).normal(size=(2, 2, 2, 2)) / 4, np.random.default_rng(8).normal(size=(8, 3)) / 4
IMAGES = np.random.default_rng(9).normal(size=(96, 1, 4, 4))


@lw.program
def pictures(x: lw.Secret[1, 4, 4]):
    """Convolutions, the first of which reads zeros at the edges."""
    channels = lw.relu(lw.conv2d(x, FILTERS, padding=1) + np.array([0.1, -0.2])[:, None, None])
    channels = lw.relu(lw.conv2d(lw.avg_pool2d(channels, 2), LATER, padding=1)[:, :2, :2])
    return channels.reshape(8) @ ENDS


def test_channels_of_images():
    model = lw.compile(pictures, calibrate=IMAGES, tolerance=2.0, precision_bits=10)
    assert are_parabolas(model)[0] and not are_parabolas(model)[1]  # a part of an image is taken in between
    for image in IMAGES[3:12:4]:
        clear, noisy = np.ravel(model.plaintext(image)), np.ravel(model.simulate(image, noise=True))
        assert np.max(np.abs(clear - pictures(image))) <= 2.0
        assert np.max(np.abs(noisy - clear)) < 2e-3


@pytest.mark.parametrize("batch", [None, 512])
def test_arguments_far_outside_of_ranges_give_what_parabolas_give(batch, chosen, many):
    """Squares are of any number: nothing wraps around at the corners of what clients accept."""
    model = many if batch else chosen
    spec = model.plan.client.secret_inputs[0]
    corners = np.where(CORNERS > 0, np.broadcast_to(spec.high, CORNERS.shape), np.broadcast_to(spec.low, CORNERS.shape))
    wanted = in_the_clear(model, corners)
    worst = int(np.argmax(np.abs(wanted).max(axis=1)))
    assert np.max(np.abs(wanted)) > 2.0 * np.max(np.abs(in_the_clear(model, DATA[:40])))
    result = run(model, np.resize(corners, (512, 6)) if batch else corners[worst])
    found = result.reveal()[:64] if batch else result.reveal()[None]
    assert np.max(np.abs(found - (wanted if batch else wanted[worst]))) < 2.0**-8 * np.max(np.abs(wanted))
    assert not np.any(result.is_certain)

"""What clients check beside ranges: parts and sums of inputs that functions are applied to, without any weight."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.levels.known_slots import Draw, owners_of
from latticework.errors import FormatError, RangeError
from latticework.plan.files.serialise import read_client, write_client
from latticework.plan.schema.constraints import Constraint, Element

SMALL = {"ring_degree": 4096, "insecure": True, "precision_bits": 8}
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(100, 8)) * np.array([1, 1, 1, 1, 8, 8, 8, 8])


@lw.program
def gated(x: lw.Secret[8]):
    return lw.sigmoid(x[:4]) * x[4:]


@lw.program
def by_mean(x: lw.Secret[8]):
    return np.log(np.mean(x[4:]) + 30) * x[0]


@lw.program
def by_difference(x: lw.Secret[8]):
    return np.tanh(x[1:4] - x[0]) + x[4]


@lw.program
def by_multiple(x: lw.Secret[8]):
    return lw.sigmoid(np.reshape(0.7 * x[:4], (2, 2)).T - 0.2) * x[4]


@lw.program
def one_by_one(x: lw.Secret[8]):
    return sum(np.exp(x[i]) * x[i + 1] for i in range(4))


@lw.program
def in_a_loop(x: lw.Secret[8]):
    return lw.for_loop(3, lambda _, v: v * 0.5 + lw.sigmoid(x[:4]), x[4:])


def within_constraints(spec, rng):
    """A row from anywhere in the accepted range, whose elements are then moved to where constraints hold, or to an end."""
    (given,) = spec.secret_inputs
    row = rng.uniform(given.low, given.high, given.shape)
    for constraint in spec.constraints:
        for element in constraint.elements:
            factors = np.array(element.factors or (1.0,) * len(element.places))
            wanted = rng.choice([constraint.low, constraint.high, rng.uniform(constraint.low, constraint.high)])
            row[element.places[-1]] += (wanted * (1 - 1e-9) - factors @ row[list(element.places)]) / factors[-1]
    return row


@pytest.mark.parametrize(
    "program", [gated, by_mean, by_difference, by_multiple, one_by_one, in_a_loop], ids=lambda p: p.name
)
def test_functions_of_parts_and_sums_are_proved(program):
    """Every row that a client accepts comes out within its bound, at the ends of constraints too."""
    model = lw.compile(program, calibrate=ROWS, **SMALL)
    constraints = model.plan.client.constraints
    assert constraints and not any(a.may_leave for a in model.plan.approximations)
    client = model.client()
    server = model.server(client.keygen().public())
    rng, tried, refused = np.random.default_rng(1), 0, 0
    rows = [within_constraints(client.spec, rng) for _ in range(12)]
    for row in [*rows, *rng.uniform(-20, 20, size=(4, 8))]:
        try:
            sent = client.encrypt(row)
        except RangeError:
            refused += 1
            continue
        tried += 1
        found = client.decrypt(server(sent))
        assert found.is_proved and np.all(np.abs(found.reveal() - program(row)) <= found.error_bound)
    assert tried >= 3 and refused >= 1


def test_rows_outside_are_refused_by_function_row_and_element():
    model = lw.compile(gated, calibrate=ROWS, **SMALL)
    client = model.client()
    client.keygen()
    (constraint,) = model.plan.client.constraints
    assert np.min(ROWS[:, :4]) > constraint.low > np.min(ROWS) and np.max(ROWS[:, :4]) < constraint.high < np.max(ROWS)
    bad = np.zeros((5, 8))
    bad[2, 1] = bad[4, 3] = 7.53
    with pytest.raises(RangeError) as caught:
        client.encrypt(bad)
    text = caught.value.message
    assert "input x, run 2, column 1 is outside" in text and "what sigmoid in test_constraints.py:" in text
    assert f"{constraint.high:.6g}" in text and "(and 1 more value is not taken)" in text and "7.53" not in text
    check = client.check(bad)
    assert [(each.row, each.column) for each in check.findings] == [(2, 1), (4, 3)] and client.check(np.zeros(8)).fits
    assert check.kept().rows == (0, 1, 3)
    clipped = client.encrypt(check.clipped())
    assert clipped.extent.runs == 5
    with pytest.raises(RangeError, match=r"input x, column 1 is outside"):
        client.encrypt_part(x=bad[2])
    assert "Clients refuse rows in which what sigmoid" in " ".join(model.report().text().split())


def test_rows_of_a_batch_are_checked_one_by_one():
    @lw.program
    def rows(x: lw.Secret[4, 3]):
        return lw.sigmoid(np.sum(x[:, :2], axis=1)) * x[:, 2]

    data = RNG.normal(size=(40, 3)) * [1, 1, 20]
    model = lw.compile(rows, calibrate=data, **SMALL)
    (constraint,) = model.plan.client.constraints
    assert constraint.by_row and constraint.elements == (Element((0, 1)),)
    client = model.client()
    server = model.server(client.keygen().public())
    given = data[:7].copy()
    found = client.decrypt(server(client.encrypt(given)))
    exact = 1 / (1 + np.exp(-given[:, :2].sum(axis=1))) * given[:, 2]
    assert found.is_proved and np.all(np.abs(found.reveal() - exact) <= found.error_bound)
    given[5, :2] = 4.0
    with pytest.raises(RangeError, match=r"input x, row 5 has x\[:, 0\] \+ x\[:, 1\] outside .*, what sigmoid in"):
        client.encrypt(given)
    wide = lw.compile(rows, calibrate=data, batch=8, **SMALL)
    assert wide.plan.client.constraints == model.plan.client.constraints
    assert not wide.plan.approximations[0].may_leave


def constraints_of(program, **options):
    return lw.compile(program, calibrate=ROWS, **SMALL, **options).plan.client.constraints


def test_no_weight_is_in_a_constraint():
    """Products with matrices and vectors have none, nor have sums by several numbers; one number does not show."""

    @lw.program
    def weighted(x: lw.Secret[8], w):
        return lw.sigmoid(x[:4] @ w) * x[4]

    @lw.program
    def by_element(x: lw.Secret[8], w):
        return lw.sigmoid(x[:4] * w) * x[4]

    @lw.program
    def mixed(x: lw.Secret[8]):
        return lw.sigmoid(0.3 * x[0] + 0.7 * x[1]) * x[4]

    weights = np.array([0.3, -0.7, 0.2, 0.6])
    for program, options in ((weighted, {"weights": (weights,)}), (by_element, {"weights": (weights,)}), (mixed, {})):
        assert constraints_of(program, **options) == ()

    @lw.program
    def single(x: lw.Secret[8], w, b):
        return lw.sigmoid(x[:4] * w + b) * x[4]

    one, other = (constraints_of(single, weights=(w, b)) for w, b in ((0.31, 0.7), (-0.55, 0.123)))
    (a,), (b,) = one, other
    assert a.elements == b.elements and (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9)


def test_inputs_that_may_come_from_elsewhere_have_none():
    @lw.program
    def apart(x: lw.Secret[2], y: lw.Secret[2]):
        return lw.sigmoid(x - y) * x

    data = RNG.normal(size=(60, 2)), RNG.normal(size=(60, 2)) * 4
    assert lw.compile(apart, calibrate=data, **SMALL).plan.client.constraints == ()


def test_functions_that_ranges_hold_need_none():
    @lw.program
    def direct(x: lw.Secret[8]):
        return lw.sigmoid(x)

    assert constraints_of(direct) == ()


def test_files_hold_constraints_and_refuse_others():
    spec = lw.compile(gated, calibrate=ROWS, **SMALL).plan.client
    assert read_client(write_client(spec)) == spec
    (constraint,) = spec.constraints
    for wrong in (
        replace(constraint, input="y"), replace(constraint, low=9.0), replace(constraint, elements=(Element((8,)),)),
        replace(constraint, elements=(Element(()),)), replace(constraint, elements=(Element((0, 1), (1.0,)),)),
        replace(constraint, elements=()), replace(constraint, elements=(Element((-1,)),)),
    ):  # fmt: skip
        with pytest.raises(FormatError, match="a constraint is on elements"):
            read_client(write_client(replace(spec, constraints=(wrong,))))


def test_values_are_sums_of_elements():
    constraint = Constraint("x", "exp", "", -1.0, 1.0, (Element((2, 0)), Element((1, 2), (0.5, -1.0)), Element((3,))))
    items = RNG.normal(size=(5, 4))
    expected = np.stack([items[:, 2] + items[:, 0], 0.5 * items[:, 1] - items[:, 2], items[:, 3]], axis=1)
    np.testing.assert_allclose(constraint.values(items), expected, atol=1e-15)


def test_slots_are_known_where_they_agree_in_every_draw():
    rng = np.random.default_rng(4)
    inputs = rng.normal(size=(3, 5))
    known = [np.array([2 * x[0] - 1, x[1] + x[2], x[3]]) for x in inputs]
    draws = [Draw([], numbers, np.array([7, 8, 9])) for numbers in known]
    slots = [np.array([[x[3], x[4], x[1] + x[2], np.nan], [x[1], 2 * x[0] - 1, 0.0, x[3] + 1e-4]]) for x in inputs]
    assert owners_of(slots, draws).tolist() == [[9, -1, 8, -1], [-1, 7, -1, -1]]

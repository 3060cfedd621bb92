"""Programs calibrated on 2 to 200 rows, and functions of parts of inputs: no accepted row is off without a mark.

Of results that are proved none may be beyond its bound. Of others there may be, in programs that compiling warned of, as
many as the warning states, which holds for 19 calibrations in 20; and in programs that it did not warn of one in ten.
"""

import re
import warnings
from collections import Counter

import numpy as np
import pytest

import latticework as lw
from latticework.errors import RangeError

SMALL = {"ring_degree": 4096, "insecure": True, "precision_bits": 8}
WEIGHTS = np.random.default_rng(5).normal(size=20)
DRAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.uniform(-1, 1, size=size),
    "lognormal": lambda rng, size: rng.lognormal(size=size),
    "heavy": lambda rng, size: rng.standard_t(3, size=size),
}


@lw.program
def level(x: lw.Secret[20]):
    return np.log(np.mean(x * x) + 0.05)


@lw.program
def score(x: lw.Secret[20]):
    return lw.sigmoid(x @ WEIGHTS)


@lw.program
def inverse(x: lw.Secret[20]):
    return lw.reciprocal(0.5 + np.mean(x * x))


@lw.program
def products(x: lw.Secret[20]):
    return np.tanh(x[:2] * x[2:4])


@lw.program
def both(x: lw.Secret[20]):
    return lw.sigmoid(x @ WEIGHTS) + np.tanh(0.1 * np.sum(x * x))


@lw.program
def total(x: lw.Secret[20]):
    return lw.sigmoid(np.sum(x)) * x[0]


@lw.program
def column(x: lw.Secret[20]):
    return lw.gelu(x[3]) - x[4]


PROGRAMS = (level, score, inverse, products, both, total, column)


def compiled(program, data):
    """The model, and the share that compiling states; None where it does not warn."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = lw.compile(program, calibrate=data, **SMALL)
    told = [str(w.message) for w in caught if w.category is lw.ApproximationWarning]
    found = [re.search(r"about 1 in ([\d.]+) inputs", text) for text in told]
    return model, 1 / float(found[0][1]) if found else None


def results(model, rows):
    """Of accepted rows the row and its result, one by one: beside one that is too large others have no bound."""
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    for row in rows:
        try:
            sent = client.encrypt(row)
        except RangeError:
            continue
        yield row, client.decrypt(server(sent))


def is_beyond(program, row, found):
    return np.isfinite(found.error_bound) and bool(np.any(np.abs(found.reveal() - program(row)) > found.error_bound))


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS)
def test_no_more_rows_are_off_than_is_stated(draw):
    seen = Counter()
    for program in PROGRAMS:
        for number in (2, 3, 5, 10, 20, 50, 200):
            rng = np.random.default_rng([number, len(program.name)])
            try:
                model, stated = compiled(program, DRAWS[draw](rng, (number, 20)))
            except lw.UserError:  # as where no affordable degree is precise enough on a heavy tail
                seen["refused"] += 1
                continue
            outcomes = []
            for row, found in results(model, DRAWS[draw](rng, (60, 20))):
                beyond = is_beyond(program, row, found)
                assert not (beyond and found.is_proved), (program.name, number, row)
                outcomes.append(beyond)
            limit = 0.1 if stated is None else stated
            seen["programs"] += 1
            seen["more"] += np.mean(outcomes or [0.0]) > limit + 1.5 * np.sqrt(limit / max(len(outcomes), 1))
            seen["beyond"], seen["rows"] = seen["beyond"] + sum(outcomes), seen["rows"] + len(outcomes)
    print(draw, dict(seen))
    assert seen["programs"] >= 30 and seen["rows"] > 500
    assert seen["more"] <= 0.1 * seen["programs"]


def drawn_program(seed):
    """A function of a part of an input, moved and added up in one way of many, times another part; its data."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 10))
    cut = int(rng.integers(1, size))
    step = int(rng.choice([1, 1, 2]))
    kind = rng.choice(["slice", "sum", "mean", "difference", "turned", "scaled", "two", "picked"])
    function = [lw.sigmoid, np.tanh, lw.gelu, np.exp, lambda a: np.log(a + 12), lw.relu][int(rng.integers(6))]
    number, shift = float(rng.uniform(0.2, 2)), float(rng.uniform(-1, 1))

    @lw.program
    def drawn(x: lw.Secret[size]):
        part = x[:cut:step]
        if kind == "sum":
            return function(np.sum(part)) * x[-1]
        if kind == "mean":
            return function(np.mean(part) + shift) + x
        if kind == "difference":
            return function(part - x[-1]) * 0.5
        if kind == "turned":
            return function(np.flip(part)) + x[0]
        if kind == "scaled":
            return function(number * part + shift) * x[-1]
        if kind == "two":
            return function(part) * x[-1] + np.tanh(x[cut:])[0]
        if kind == "picked":
            return function(x[[0, size - 1]]) - np.sum(x)
        return function(part) * x[-1]

    scales = rng.choice([0.3, 1.0, 4.0], size)
    rows = int(rng.choice([2, 3, 5, 12, 40, 120]))
    return drawn, rng.normal(size=(rows, size)) * scales, rng


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_functions_of_parts_are_right_for_every_row_that_is_accepted(block):
    """Rows from all of the accepted range, at ends of constraints among them."""
    seen = Counter()
    for seed in range(25 * block, 25 * (block + 1)):
        program, data, rng = drawn_program(seed)
        try:
            model, _ = compiled(program, data)
        except lw.UserError:
            seen["refused"] += 1
            continue
        spec = model.plan.client
        (given,) = spec.secret_inputs
        rows = list(data[:4])
        for _ in range(20):
            row = rng.uniform(given.low, given.high, given.shape)
            for constraint in spec.constraints:
                for element in constraint.elements:
                    factors = np.array(element.factors or (1.0,) * len(element.places))
                    wanted = rng.choice([constraint.low, constraint.high, rng.uniform(constraint.low, constraint.high)])
                    off = wanted * (1 - 1e-9) - factors @ row[list(element.places)]
                    place = int(rng.integers(len(factors)))
                    row[element.places[place]] += off / factors[place]
            rows.append(row)
        seen["held"] += bool(spec.constraints)
        for row, found in results(model, rows):
            seen["proved" if found.is_proved else "other"] += 1
            assert not (is_beyond(program, row, found) and found.is_proved), (seed, row)
        assert not any(a.may_leave for a in model.plan.approximations) or not spec.constraints, seed
    print(dict(seen))
    assert seen["held"] >= 8 and seen["proved"] >= 200

"""Circuits on real numbers that spend more levels than their chain has: bootstrapped as programs are, or refused."""

from itertools import product

import numpy as np
import pytest

import latticework as lw
from latticework.errors import LevelError, PrecisionError, RangeError, UserError
from latticework.plan.schema.conditions import UNLIKE

SMALL = {"bootstrap_set": "T11", "insecure": True, "precision_bits": 8, "algorithm": "scalar"}
X, Y = 0.83, -0.41


def step(x):
    return x * x - 0.5


def squarings(times, **ranges):
    """A number squared so many times in a row, two outputs at different depths."""

    def squared(x: lw.scalar(**ranges), y: lw.scalar(**ranges)):
        half = x * y
        for number in range(times):
            x = step(x)
            half = half + 0.25 * x * y if number == times // 2 else half
        return {"deep": x, "half": half}

    return lw.circuit(squared)


RANGED = dict(low=-1, high=1)


def agrees(model, circuit, found, args):
    """Within the bounds that the outputs state, which are no larger than what was asked for."""
    spec = model.plan.client
    bound = max(output.error_bound for output in spec.outputs)
    assert bound <= 2.0**-spec.precision_bits * max(output.magnitude for output in spec.outputs)
    for name, wanted in circuit(*args).items():
        assert abs(found[name] - wanted) <= bound


def test_two_results_are_decrypted_within_their_bounds():
    circuit = squarings(7, **RANGED)
    model = lw.compile(circuit, **SMALL)
    assert model.plan.bootstraps
    client = model.client()
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(X, Y)))
    agrees(model, circuit, {name: float(value.reveal()) for name, value in result.items()}, (X, Y))
    assert "bootstrap" in str(model.report())


def test_a_circuit_deeper_than_any_ring():
    circuit = squarings(130, **RANGED)
    model = lw.compile(circuit, **SMALL)
    for args in ((X, Y), (1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)):
        found = {name: float(value) for name, value in model.simulate(*args).items()}
        agrees(model, circuit, found, args)


def test_circuits_that_fit_do_not_bootstrap_for_time():
    assert not lw.compile(squarings(3, **RANGED), effort="fast").plan.bootstraps


def alternating(rate, scaled=1.0):
    """Sums that are 0 at both ends of all ranges, and 4 elsewhere, iterated through bootstraps.

    scaled  what the iterated sum is multiplied by before it is added to something of known size
    """

    def iterated(a: lw.scalar(**RANGED), b: lw.scalar(**RANGED), c: lw.scalar(**RANGED), d: lw.scalar(**RANGED)):
        total = a - b + c - d
        for _ in range(7):
            total = total * (1 - rate * total)
        return {"sum": scaled * total + 0.5 * a, "beside": total * (a + b) * scaled + 0.5 * b, "product": a * b}

    return lw.circuit(iterated)


CORNERS = list(product((-1.0, 1.0), repeat=4))


def test_values_are_largest_where_only_some_inputs_are():
    """Bootstraps have room for what any corner of the ranges gives, though both ends of all ranges give 0."""
    circuit = alternating(0.05)
    model = lw.compile(circuit, **SMALL)
    assert model.plan.bootstraps and all(output.is_proved for output in model.plan.client.outputs)
    for corner in CORNERS:
        agrees(model, circuit, model.simulate(*corner), corner)
    client, worst = model.client(), (-1.0, 1.0, -1.0, 1.0)
    assert circuit(*worst)["sum"] < -70
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(*worst)))
    agrees(model, circuit, {name: float(value.reveal()) for name, value in result.items()}, worst)
    assert all(value.is_certain for value in result.values())


def test_corners_that_grow_beyond_bootstraps_are_refused():
    with pytest.raises(
        RangeError, match=r"beyond 2\^23 with inputs at ends of their declared ranges \(give calibrate="
    ):
        lw.compile(alternating(0.25), **SMALL)
    with pytest.raises(PrecisionError, match=r"8 is not reached .* Precision is that with inputs at ends of their dec"):
        lw.compile(alternating(0.1, scaled=1e-3), **SMALL)


def test_what_wraps_and_becomes_small_is_not_certain():
    """Where data are given, values that these never have may leave the room of a bootstrap: results look as usual.

    The stated bound is for inputs like the data, and every result that it may be wrong of says so.
    """
    circuit, alike = alternating(0.25, scaled=1e-6), np.random.default_rng(0).uniform(-1, 1, (4, 2))
    data = dict(zip("abcd", (alike[:, 0], alike[:, 0], alike[:, 1], alike[:, 1]), strict=True))
    model = lw.compile(circuit, **SMALL, calibrate=data)
    agrees(model, circuit, model.simulate(0.5, 0.5, -1, -1), (0.5, 0.5, -1, -1))
    client, worst = model.client(), (-1.0, 1.0, -1.0, 1.0)
    found, wanted = model.simulate(*worst), circuit(*worst)
    assert abs(found["sum"]) < 1 < 1e20 < abs(wanted["sum"])  # nothing in the number tells
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(*worst)))
    for name in ("sum", "beside"):
        assert not result[name].is_certain and not result[name].is_proved
        assert result[name].conditions == (UNLIKE,)
    assert abs(result["product"].reveal() + 1) <= result["product"].error_bound


DEEP = {"algorithm": "scalar"}
NO_RANGE = r"bootstraps take values of known size: declare low= and high= of x, y, or give calibrate=data"
SHARED = r"\(like=, lanes=, spare_levels=\) has no bootstraps: leave that out"
REFUSED = {
    "no range": ({}, {}, LevelError, r"spends 130 levels .* holds about \d+ .*Spent by line \d+ .*; " + NO_RANGE),
    "no range on a set": ({}, SMALL, UserError, "circuit squared is not bootstrapped: " + NO_RANGE),
    "never": (RANGED, {"bootstrap": "never"}, LevelError, r"spends 130 levels .*bootstrap='auto' refreshes values"),
    "a small ring": (RANGED, {"ring_degree": 8192}, LevelError, r"ring_degree=8192 is too small to bootstrap: the sma"),
    "for others": (RANGED, {"spare_levels": 2}, LevelError, r"spends 132 levels .*" + SHARED),
    "a set, for others": (RANGED, {**SMALL, "spare_levels": 2}, UserError, "is not bootstrapped: .*" + SHARED),
    "rows": (RANGED, {"batch": 4}, LevelError, r"rows of a batch are bootstrapped in programs on arrays alone: leave ba"),
    "integers": (RANGED, {"scheme": "bfv"}, LevelError, r"multiplies encrypted numbers 60 times.* has room for about"),
}  # fmt: skip


@pytest.mark.parametrize(("ranges", "options", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_with_what_to_do(ranges, options, kind, message):
    circuit = whole_squares if options.get("scheme") == "bfv" else squarings(130, **ranges)
    with pytest.raises(kind, match=message) as caught:
        lw.compile(circuit, **{**DEEP, **options})
    assert caught.value.at is not None and caught.value.at.file == __file__
    assert options.get("scheme") != "bfv" or "bootstrap" not in caught.value.message


@lw.circuit
def whole_squares(x: lw.scalar(**RANGED)):
    for _ in range(60):
        x = x * x
    return x


def test_circuits_that_share_parameters_of_one_that_bootstraps():
    """They have the levels that bootstraps leave, and no bootstraps of their own."""
    like = lw.compile(squarings(5, **RANGED), **SMALL)
    shared = {"like": like, "precision_bits": 8, "algorithm": "scalar"}
    model, circuit = lw.compile(squarings(1, **RANGED), **shared), squarings(1, **RANGED)
    agrees(model, circuit, {name: float(value) for name, value in model.simulate(X, Y).items()}, (X, Y))
    with pytest.raises(LevelError, match="needs 1 levels more than are left; parameters of a circuit that bootstraps"):
        lw.compile(squarings(3, **RANGED), **shared)


def test_integers_are_never_approximate():
    for options in ({"bootstrap": "auto"}, {"bootstrap_set": "T11"}, {"bootstrap": "never"}):
        if options != {"bootstrap": "auto"}:  # the default says nothing
            with pytest.raises(UserError, match=r"bootstrap\w*= is for .* whole_squares is a circuit under BFV"):
                lw.compile(whole_squares, scheme="bfv", **options)

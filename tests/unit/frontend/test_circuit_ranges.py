"""What is known of the size of a circuit's results: computed with numbers of bounded size, said in a few digits."""

import warnings
from math import inf

import numpy as np
import pytest

import latticework as lw
from latticework.errors import RangeError
from latticework.functions.approximation.intervals import MOST, make_interval, minus, negative, plus, times
from latticework.runtime.client.user_names import gather_inputs

EXACT = dict(scheme="bfv", ring_degree=1024, insecure=True)
HUGE = 10**5000  # more digits than Python writes


@lw.circuit
def equal(a: lw.scalar(low=0, high=30_000), b: lw.scalar(low=0, high=30_000)):
    difference = a - b
    for _ in range(16):
        difference = difference * difference
    return 1 - difference


def test_intervals_hold_what_they_are_computed_for_and_stay_small():
    rng = np.random.default_rng(3)
    sizes = [0, 1, 40, 999, 1001]
    for _ in range(200):
        ends = [int(s) * (1 << int(rng.choice(sizes))) for s in rng.integers(-3, 4, 4)]
        a, b = sorted(ends[:2]), sorted(ends[2:])
        boxes = [make_interval(*x) for x in (a, b)]
        for x in (a[0], a[1]):
            for y in (b[0], b[1]):
                cases = [(plus(*boxes), x + y), (minus(*boxes), x - y), (times(*boxes), x * y)]
                for (low, high), value in [
                    *cases,
                    (negative(boxes[0]), -x),
                    (times(boxes[0], boxes[0], same=True), x * x),
                ]:
                    assert low <= value <= high
                    assert all(abs(end) in (inf, MOST) or abs(end) < MOST for end in (low, high))


def test_equality_by_fermat_compiles_and_its_warning_is_short():
    with pytest.warns(lw.RangeWarning) as caught:
        model = lw.compile(equal, plain_modulus=65537, **EXACT)
    message = str(caught[0].message)
    assert "circuit equal: the result may lie between less than -2^1000 and 1" in message and len(message) < 500
    assert "no plaintext modulus would hold it; declare narrower ranges, or compile with wraps=True" in message
    client = model.client()
    server = model.server(client.keygen().public())
    got = [int(client.decrypt(server(client.encrypt(a=a, b=29_999))).reveal()) for a in (29_999, 7)]
    assert got == [1, 0]


def test_wraps_says_that_residues_are_meant():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.compile(equal, plain_modulus=65537, wraps=True, **EXACT)
    with pytest.raises(lw.UserError, match="compile: wraps='yes'; give True or False"):
        lw.compile(equal, wraps="yes", **EXACT)


def test_high_powers_of_arrays_are_not_blamed_on_data():
    @lw.circuit
    def power(a: lw.vector(4, low=-10, high=10), b: lw.vector(4, low=-10, high=10)):
        return (a - b) ** 256

    model = lw.compile(power, scheme="bfv", wraps=True, algorithm="tensors")  # exactly: no floats are calibrated
    assert model.plan.chain.plain_modulus
    with pytest.raises(
        RangeError, match=r"test_circuit_ranges.py:\d+: .*range of floating-point numbers \(2\^1024\)"
    ) as e:
        lw.compile(power, scheme="ckks")
    assert "clean the data" not in str(e.value) and "declare narrower ranges (low=, high=)" in str(e.value)


@lw.circuit
def plain(x: lw.scalar(low=0, high=3)):
    return x + 1


@pytest.mark.parametrize("option", ["plain_modulus", "plain_bits", "ring_degree", "seed", "spare_levels"])
def test_whole_numbers_of_thousands_of_digits_are_refused_in_words(option):
    with pytest.raises(lw.UserError, match=f"{option}=about 2.16610|modulus of about 2.16610 bits"):
        lw.compile(plain, scheme="bfv", **{option: HUGE})


def test_inputs_and_exponents_of_thousands_of_digits_are_refused_in_words():
    with pytest.raises(RangeError, match=r"lw.scalar: low=about -2\^16610, high=about 2\^16610; give two finite"):
        lw.scalar(low=-HUGE, high=HUGE)

    @lw.circuit
    def power(x: lw.scalar()):
        return x**HUGE

    with pytest.raises(RangeError, match=r"\*\* about 2\^16610: the exponent must be"):
        lw.compile(power, **EXACT)
    spec = lw.compile(plain, **EXACT).client().spec
    with pytest.raises(RangeError, match="circuit plain, input x is a whole number of more than 62 bits"):
        gather_inputs(spec, {"x": HUGE})

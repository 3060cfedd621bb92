"""Arrays whose mask or meaning NumPy would forget are refused wherever users give data."""

import numpy as np
import pytest

import latticework as lw
from latticework import bfv, ckks
from latticework.errors import DtypeError, UserError

NUMBERS = np.array([1.0, 2.0, 3.0, 4.0])
MASKED = np.ma.masked_array(NUMBERS, [False, True, False, False])
UNFIT = {
    "masked": MASKED,
    "a list with masked rows": [MASKED, MASKED],
    "masked in a list": [1.0, np.ma.masked, 2.0, 3.0],
    "matrix": NUMBERS.view(np.matrix),
}
NO_NUMBERS = {
    "structured": np.array([(1, 2.0)] * 4, dtype=[("a", int), ("b", float)]),
    "dates": np.array(["2020-01-01"] * 4, "datetime64[D]"),
    "times": np.array([1, 2, 3, 4], "timedelta64[s]"),
    "objects": np.array([1.0, None, 2.0, 3.0], dtype=object),
    "texts": np.array(["1", "2", "3", "4"]),
}
SMALL = {"ring_degree": 1024, "insecure": True}


@lw.program
def weighted(x: lw.Secret[4], w):
    return x * w


@lw.program
def doubled(x: lw.Secret[4]):
    return x + x


@lw.circuit
def scaled(x: lw.vector(4), w: lw.vector(4, secret=False)):
    return x * w


@lw.circuit
def taken(x: lw.vector(4), w):
    return x * w


@lw.circuit
def added(x: lw.vector(4)):
    return x + x


@pytest.fixture(scope="module")
def entries():
    """Where data enter, by name."""
    program = lw.compile(doubled, **SMALL).client()
    circuit = lw.compile(added, **SMALL).client()
    exact = lw.compile(added, scheme="bfv", ring_degree=4096, insecure=True, plain_bits=17).client()
    reals = ckks.Parameters(1024, [40, 30], scale_bits=30, num_special=1, insecure=True)
    integers = bfv.Parameters(1024, [40], p_bits=[40], plain_bits=17, insecure=True)
    return {
        "weights of a program": lambda x: lw.compile(weighted, weights=(x,), **SMALL),
        "weights of a circuit": lambda x: lw.compile(taken, weights={"w": x}, **SMALL),
        "public inputs": lambda x: lw.compile(scaled, weights={"w": x}, **SMALL),
        "calibration": lambda x: lw.compile(doubled, calibrate=x, **SMALL),
        "calibration of a circuit": lambda x: lw.compile(added, calibrate={"x": x}, **SMALL),
        "inputs": lambda x: program.checked((x,), {}),
        "inputs of a circuit": lambda x: circuit.checked((x,), {}),
        "exact inputs": lambda x: exact.checked((x,), {}),
        "plain inputs": doubled,
        "plain inputs of a circuit": added,
        "polynomials": lambda x: lw.polynomial(NUMBERS, x),
        "the encoder of CKKS": ckks.Encoder(reals).encode,
        "matrices of CKKS": ckks.LinearTransform,
        "polynomials of CKKS": ckks.Polynomial,
        "the encoder of BFV": bfv.Encoder(integers).encode,
    }


@pytest.mark.parametrize("kind", UNFIT)
def test_what_would_be_forgotten_is_refused(entries, kind):
    for name, give in entries.items():
        with pytest.raises(DtypeError, match=r"a masked array, \d of \d elements masked; give|np.matrix, whose \*"):
            give(UNFIT[kind])
            pytest.fail(name)


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_array_of_numbers_is_refused(entries, kind):
    for name, give in entries.items():
        if name == "weights of a circuit":
            continue  # may be anything that the function makes something of; it meets numbers there
        with pytest.raises(UserError):
            give(NO_NUMBERS[kind])
            pytest.fail(name)


def test_masked_arrays_without_a_masked_element_are_arrays():
    unmasked = np.ma.masked_array(NUMBERS)
    assert doubled(unmasked).tolist() == [2, 4, 6, 8]

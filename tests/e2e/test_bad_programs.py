"""Mistakes in programs, and in what is given to compile: the type, the user's own line, the numbers, the remedy."""

import inspect
import re
import time

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, affine, affine_weights, compile_affine, uniform

import latticework as lw
from latticework.errors import (
    DtypeError,
    LayoutError,
    LevelError,
    PrecisionError,
    RangeError,
    ShapeError,
    TraceError,
    UnsupportedError,
    UserError,
)

FILE = re.escape(__file__)
DATA = uniform((50, 4))
WEIGHTS = affine_weights()


def line_of(function, text):
    """Number of the line of a function's source that contains a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def refused(kind, message, action, *, at=None, seconds=1.0):
    """The action raises exactly this kind of error, in little time, with this message, at this line."""
    started = time.monotonic()
    with pytest.raises(kind, match=message) as caught:
        action()
    assert time.monotonic() - started < seconds
    assert type(caught.value) is kind and isinstance(caught.value, UserError)
    text = str(caught.value)
    assert "object at 0x" not in text and len(text) < 500
    if at is not None:
        assert text.startswith(f"{at}: ")
    return text


# Python that needs numbers


@lw.program
def branch(x: lw.Secret[()]):
    if x:  # here
        return x
    return -x


@lw.program
def repeat(x: lw.Secret[()]):
    while x:  # here
        x = x - 1
    return x


@lw.program
def compare(x: lw.Secret[4]):
    return x * (x > 0)  # here


@lw.program
def to_float(x: lw.Secret[4]):
    return float(x[0]) + x  # here


@lw.program
def inverse(x: lw.Secret[4, 4]):
    return np.linalg.inv(x)  # here


@lw.program
def ordered(x: lw.Secret[4]):
    return np.sort(x)  # here


@lw.program
def divided(x: lw.Secret[4]):
    return 1 / x  # here


@lw.program
def asserted(x: lw.Secret[4]):
    y = np.asarray(x)  # here
    return y


PYTHON = [
    (branch, TraceError, r"if, while.*<secret array x \(\)> has no value.*choose by lw.where\(bit, a, b\)"),
    (repeat, TraceError, "if, while.*lw.for_loop"),
    (compare, TraceError, r"comparison needs numbers.*secret array x \(4,\).*lw.sigmoid"),
    (to_float, TraceError, r"float\(\) needs a number.*after decryption"),
    (inverse, UnsupportedError, "np.linalg.inv is not supported on secret arrays: it divides by what is secret"),
    (ordered, UnsupportedError, "np.sort is not supported.*order them after decryption"),
    (divided, RangeError, "reciprocal: the range of its argument is not known.*range="),
    (asserted, TraceError, "np.asarray.*w @ x"),
]


@pytest.mark.parametrize(("program", "kind", "message"), PYTHON, ids=[row[0].name for row in PYTHON])
def test_python_on_secrets(program, kind, message):
    at = f"{__file__}:{line_of(program.function, '# here')}"
    refused(kind, message, lambda: lw.compile(program, **INSECURE_SMALL), at=at)


def test_an_error_of_the_program_itself_is_left_alone():
    @lw.program
    def broken(x: lw.Secret[4]):
        return x * {}["gain"]

    with pytest.raises(KeyError, match="gain"):
        lw.compile(broken)


# What a program returns


RETURNED = {
    "nothing": (lambda x: None, "returns None as result; return arrays computed from the inputs"),
    "empty tuple": (lambda x: (), "returns nothing; return at least one array"),
    "nested": (lambda x: {"a": (x, x)}, "returns a tuple as a, inside another; return one flat"),
    "same name": (lambda x: {1: x, "1": -x}, "two outputs of the same name.*rename one"),
}


@pytest.mark.parametrize(("value", "message"), RETURNED.values(), ids=RETURNED)
def test_what_is_returned(value, message):
    @lw.program
    def returning(x: lw.Secret[4]):
        return value(x)

    text = refused(TraceError, message, lambda: lw.compile(returning, **INSECURE_SMALL), at=returning.loc)
    assert "program returning" in text


# Depth and size


@lw.program
def deep(x: lw.Secret[4]):
    for _ in range(140):
        x = 0.5 * x * x + 0.5
    return x


@lw.program
def huge(x: lw.Secret[1 << 14, 5000]):
    return x * 2  # here


@lw.program
def huge_inside(x: lw.Secret[4096]):
    return np.outer(x, np.ones(1 << 15))  # here


@lw.program
def unbounded(x: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda i, y: y * x, x)  # here


@lw.program
def bounded(x: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda i, y: y * x, x, at_most=3)


def test_too_deep_for_the_ring_degree_given():
    line = f"{__file__}:{line_of(deep.function, 'for _')}"
    refused(
        LevelError,
        r"program deep spends at least \d+ levels .* ring_degree=8192 holds about \d+ at precision_bits=12 and 128-bit security",
        lambda: lw.compile(deep, calibrate=DATA, ring_degree=8192),
        at=line,
        seconds=20,
    )


def test_too_deep_for_every_ring_degree():
    refused(
        LevelError,
        r"the largest ring, N=2\^17, holds about \d+ at precision_bits=12 and 128-bit security, N=2\^16 \d+",
        lambda: lw.compile(deep, calibrate=DATA, bootstrap="never"),
        at=f"{__file__}:{line_of(deep.function, 'for _')}",
        seconds=20,
    )


@pytest.mark.parametrize("program", [huge, huge_inside], ids=["huge", "huge_inside"])
def test_too_large_for_any_number_of_ciphertexts(program):
    at = f"{__file__}:{line_of(program.function, '# here')}"
    refused(
        LayoutError,
        r"the result has shape \(\d+, \d+\), \d+ elements; an encrypted tensor has at most 67108864: compute it in parts",
        lambda: lw.compile(program, **INSECURE_SMALL),
        at=at,
        seconds=20,
    )


def test_run_time_loop_that_spends_levels_needs_at_most():
    at = f"{__file__}:{line_of(unbounded.function, '# here')}"
    refused(
        LevelError,
        "trip count is known only at run time and each iteration spends 1 level.*pass at_most=K",
        lambda: lw.compile(unbounded, calibrate=DATA, **INSECURE_SMALL),
        at=at,
    )


@pytest.mark.parametrize(
    ("count", "kind", "message"),
    [
        (5, RangeError, "calibrate: n is 5; give 0 to 3, which at_most of its loop, or what it subscripts, allows"),
        (-1, RangeError, "calibrate: n is -1; give 0 to 3"),
        (2.5, DtypeError, "calibrate: n is a float; give the largest whole number"),
    ],
)
def test_run_time_integers_in_calibration(count, kind, message):
    data = {"x": DATA, "n": count}
    refused(kind, message, lambda: lw.compile(bounded, calibrate=data, **INSECURE_SMALL), at=bounded.loc)


# Weights, calibration data, options


NAN, INFINITE = np.where(np.eye(3, 4) > 0, np.nan, WEIGHTS[0]), np.where(DATA > 0.999, np.inf, DATA)
INFINITE[7, 2] = np.inf
LINE = line_of(affine.function, "return")
AT_LINE, AT_DEFINITION = f"{affine.loc.file}:{LINE}", affine.loc
B = WEIGHTS[1]
GIVEN = {
    "nan in weights": (
        {"weights": (NAN, B)}, RangeError,
        r"3 of 12 elements.*shape \(3, 4\) are NaN or infinite, first at index \(0, 0\).*np.nan_to_num", AT_LINE,
    ),
    "text as weights": ({"weights": ("abc", B)}, DtypeError, "type str has dtype <U3; give numbers", AT_LINE),
    "complex weights": ({"weights": (1j * NAN, B)}, DtypeError, "dtype complex128.*real and .imag", AT_LINE),
    "shape of weights": (
        {"weights": (np.ones((3, 5)), B)}, ShapeError, r"matmul: shapes \(3, 5\) and \(4,\) do not fit", AT_LINE,
    ),
    "one weight of two": (
        {"weights": (WEIGHTS[0],)}, TraceError, r"affine has 2 weights \(w, b\); missing: b", AT_DEFINITION,
    ),
    "unknown weight": (
        {"weights": {"w": NAN, "c": B}}, TraceError, "missing: b; unknown: c. Give weights=", AT_DEFINITION,
    ),
    "infinite calibration": (
        {"calibrate": INFINITE}, RangeError,
        rf"calibrate: data for x: {np.count_nonzero(~np.isfinite(INFINITE))} of 200 elements.* infinite", AT_DEFINITION,
    ),
    "shape of calibration": (
        {"calibrate": np.ones((3, 5))}, ShapeError,
        r"calibrate: data for x have shape \(3, 5\); the input has shape \(4,\).*\(samples, 4\)", AT_DEFINITION,
    ),
    "empty calibration": (
        {"calibrate": np.ones((0, 4))}, RangeError, r"data for x are empty \(shape \(0, 4\)\); give", AT_DEFINITION,
    ),
    "complex calibration": (
        {"calibrate": 1j * DATA}, DtypeError, "calibrate: data for x:.*complex128", AT_DEFINITION,
    ),
    "other name in calibration": (
        {"calibrate": {"y": DATA}}, TraceError, "calibrate: missing inputs: x; unknown: y", AT_DEFINITION,
    ),
    "number as a name in calibration": (
        {"calibrate": {3: DATA}}, TraceError, "calibrate: missing inputs: x; unknown: 3, which is no text", AT_DEFINITION,
    ),
    "precision 0": ({"precision_bits": 0}, PrecisionError, "precision_bits=0; give 1 to 40", None),
    "precision 100": ({"precision_bits": 100}, PrecisionError, "precision_bits=100; give 1 to 40", None),
    "precision NaN": ({"precision_bits": np.nan}, PrecisionError, "precision_bits=nan; give 1 to 40", None),
    "ring degree 1000": (
        {"ring_degree": 1000}, UserError, "ring_degree=1000 is not a power of two from 1024 to 131072", None,
    ),
    "ring degree 2^18": (
        {"ring_degree": 1 << 18}, UserError, "ring_degree=262144 is not a power of two from 1024 to 131072", None,
    ),
    "security 100": (
        {"security_bits": 100}, UserError, r"security_bits=100; choose one of \(128, 192, 256\)", None,
    ),
    "secure small ring": (
        {"insecure": False}, LevelError, "spends at least 1 level; ring_degree=2048 holds none at .* give 4096", AT_LINE,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "kind", "message", "at"), GIVEN.values(), ids=GIVEN)
def test_what_is_given_to_compile(options, kind, message, at):
    refused(kind, message, lambda: compile_affine(**options), at=at)


def test_samples_of_different_number():
    @lw.program
    def two(x: lw.Secret[4], y: lw.Secret[4]):
        return x + y

    refused(
        ShapeError,
        r"different numbers of samples \(x: 50, y: 49\); give equally many",
        lambda: lw.compile(two, calibrate=(DATA, DATA[1:]), **INSECURE_SMALL),
        at=two.loc,
    )


def test_calibration_outside_the_range_that_was_given():
    @lw.program
    def narrow(x: lw.Secret[4]):
        return lw.relu(x, range=(-0.5, 0.5))

    refused(
        RangeError,
        r"relu: calibration data reach from -0\.\d+ to 0\.\d+ here, outside the given range=",
        lambda: lw.compile(narrow, calibrate=DATA, **INSECURE_SMALL),
    )


def test_shape_that_nobody_gave():
    @lw.program
    def shapeless(x: lw.Secret):
        return x

    refused(
        TraceError,
        r"shape of x is not known; annotate it as x: lw.Secret\[1, 64\], or give example=",
        lambda: lw.compile(shapeless, **INSECURE_SMALL),
        at=shapeless.loc,
    )


def test_function_that_is_no_program():
    with pytest.raises(TraceError, match="is not a program; decorate the function with @lw"):
        lw.compile(lambda x: x)


def test_insecure_parameters_are_named(deployed):
    for shown in (deployed.model, deployed.client, deployed.server):
        assert "INSECURE" in repr(shown)

"""What cannot be bootstrapped, looped or approximated is refused while it is compiled: the line, the numbers, the remedy."""

import numpy as np
import pytest

import latticework as lw
from latticework.errors import DtypeError, LevelError, PrecisionError, RangeError, ShapeError, TraceError, UserError

SMALL = {"bootstrap_set": "T11", "insecure": True}
DATA = {"x": np.full((2, 4), 0.3), "n": 9}


def halved(i, y):
    return y * y - 0.5


def doubled(i, y):
    return y * y + 2


def repeated(n, body=halved):
    """A loop whose number of iterations is known."""

    def looped(x: lw.Secret[4]):
        return lw.for_loop(n, body, x)  # known

    return looped


def counted(body=halved):
    """A loop whose number of iterations is an argument of the run."""

    def looped(x: lw.Secret[4], n: lw.Index):
        return lw.for_loop(n, body, x)  # unknown

    return looped


def carrying(body):
    """A loop that carries a structure."""

    def looped(x: lw.Secret[4]):
        return lw.for_loop(3, lambda _, s: body(s), {"w": x, "h": [x, x]})

    return looped


def applied(function):
    """A function of the input alone."""

    def straight(x: lw.Secret[4]):
        return function(x)

    return straight


def squares(x: lw.Secret[4]):
    for _ in range(9):
        x = x * x - 0.5
    return x


def counted_by_a_secret(x: lw.Secret[4]):
    return lw.for_loop(x[0], halved, x)


def beyond_the_axis(x: lw.Secret[3, 4]):
    return lw.for_loop(4, lambda i, y: y + x[i], np.zeros(4))


def along_slots(x: lw.Secret[3, 4]):
    return lw.for_loop(3, lambda i, y: y + x[:, i], np.zeros(3))


LEVELS = {
    "a straight line, never": (
        squares, dict(bootstrap="never", ring_degree=1 << 13), LevelError,
        r"spends at least 9 levels .* ring_degree=8192 holds about \d+ .* Spent by line \d+ .*, fit: leave ring_degree out, or give",
    ),
    "a loop, never": (
        repeated(60), dict(bootstrap="never", ring_degree=1 << 15), LevelError,
        r"spends at least 60 levels .* holds about (\d+) .* about \1 of the 60 iterations .* at most \1.*bootstrap='auto' refre",
    ),
    "a loop of a run, never": (
        counted(), dict(bootstrap="never"), LevelError,
        r"trip count is known only at run time and each iteration spends 1 level.* pass at_most=K .*bootstrap='auto'",
    ),
    "a ring that is too small": (
        counted(), dict(ring_degree=8192), LevelError,
        r"each iteration spends 1 level.*ring_degree=8192 is too small to bootstrap: the smallest .* is 32768 \(C15\)",
    ),
    "precision that no set gives": (
        counted(), dict(calibrate=DATA, precision_bits=36, **SMALL), PrecisionError,
        r"precision_bits=36 is not reached with bootstraps: \d+ by T11 with one iteration, \d+ by T11 with two; ask for",
    ),
    "values that grow in a loop of a run": (
        counted(doubled), dict(calibrate=DATA, precision_bits=8, **SMALL), RangeError,
        r"the value of 'return y \* y \+ 2' .* takes values up to 2\^24, and grows beyond 2\^23 in iteration 6 on the c",
    ),
    "values that grow in a loop": (
        repeated(9, doubled), dict(calibrate={"x": DATA["x"]}, precision_bits=8, **SMALL), RangeError,
        r"the value of 'return y \* y \+ 2' .* grows beyond 2\^23 in iteration 6 on the calibration data; scale it down",
    ),
}  # fmt: skip

LOOPS = {
    "other structure": (
        repeated(3, lambda i, y: (y, y)), {}, TraceError, "init is no tuple, but body returned 2 values; return one",
    ),
    "a leaf is missing": (
        carrying(lambda s: {"w": s["w"]}), {}, TraceError, r"returns without s\['h'\]; what is carried keeps its struct",
    ),
    "a list of other length": (
        carrying(lambda s: {**s, "h": s["h"][:1]}), {}, TraceError,
        r"returns s\['h'\] as a list of 1, but it starts as a list of 2",
    ),
    "a tuple for a list": (
        carrying(lambda s: {**s, "h": tuple(s["h"])}), {}, TraceError,
        r"returns s\['h'\] as a tuple of 2, but it starts as a list of 2",
    ),
    "a leaf of other shape": (
        carrying(lambda s: {**s, "h": [s["w"], np.sum(s["w"])]}), {}, ShapeError,
        r"s\['h'\]\[1\] starts with shape \(4,\), but body returns it with shape \(\); .* give init in the final shape",
    ),
    "a negative number": (repeated(-1), {}, RangeError, "n is -1; it must be >= 0"),
    "a float": (repeated(2.5), {}, DtypeError, "n is a float; give an integer or a parameter annotated lw.Index"),
    "an encrypted number": (
        counted_by_a_secret, {}, TraceError, "how often a loop runs cannot be secret: use an integer or a parameter",
    ),
    "beyond the axis": (
        beyond_the_axis, {}, RangeError, "loop variable i reaches 3, on an axis that is 3 long; .* count fewer iterat",
    ),
    "along slots": (
        along_slots, {}, ShapeError, r"axis 1 of an array of shape \(3, 4\), which lies along the slots .* np.moveaxis",
    ),
}  # fmt: skip

FUNCTIONS = {
    "an inverse across 0": (
        applied(lambda x: lw.reciprocal(x, range=(-1, 1))), {}, RangeError,
        "range= reaches from -1 to 1, and it is defined for numbers below 0 or above 0; keep the argument there",
    ),
    "an inverse of unknown range": (
        applied(lambda x: 1 / x), {}, RangeError, r"the range of its argument is not known; pass calibrate=data",
    ),
    "an inverse across 0 on data": (
        applied(lambda x: 1 / x), dict(calibrate=np.linspace(-1, 1, 8).reshape(2, 4)), RangeError, "reciprocal: .*0",
    ),
    "a root of negative numbers": (
        applied(lambda x: lw.sqrt(x, range=(-1, 1))), {}, RangeError, "-1 to 1, and it is defined for numbers of at le",
    ),
    "a logarithm of 0": (
        applied(lambda x: lw.log(x, range=(0, 1))), {}, RangeError, "from 0 to 1, and it is defined for numbers above 0",
    ),
    "a sign without a gap": (
        applied(lambda x: lw.sign(x, gap=0)), {}, RangeError, "gap=0 must be a finite number above 0",
    ),
    "a sign within its gap": (
        applied(lambda x: lw.sign(x, range=(-1, 1), gap=2)), {}, RangeError,
        "all arguments, of magnitude up to 1, lie within gap=2 of 0.*give a smaller gap",
    ),
}  # fmt: skip

REFUSED = LEVELS | LOOPS | FUNCTIONS


@pytest.mark.parametrize(("function", "options", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_at_the_line_of_the_user(function, options, kind, message):
    with pytest.raises(kind, match=message) as caught:
        lw.compile(lw.program(function), **options)
    assert isinstance(caught.value, UserError)
    assert caught.value.at is not None and caught.value.at.file == __file__ and caught.value.at.line > 0


def test_a_number_of_iterations_that_a_run_refuses():
    def summed(x: lw.Secret[4], n: lw.Index):
        return lw.for_loop(n, lambda i, y: y + x, x)

    model = lw.compile(
        lw.program(summed), calibrate={"x": np.ones((1, 4)), "n": 5}, precision_bits=8, ring_degree=4096, insecure=True
    )
    client = model.client()  # without keys
    for number, kind, message in (
        (-1, RangeError, "n is -1; the program was compiled for 0 to 5: give a number in this range"),
        (6, RangeError, r"n is 6; the program was compiled for 0 to 5: compile with calibrate=\{..., 'n': 6\}"),
        (2.0, DtypeError, "n is a float; give a whole number, such as a number of iterations"),
    ):
        with pytest.raises(kind, match=message):
            client.encrypt(np.ones(4), number)


def test_bootstraps_of_a_program_for_another_scheme():
    for options in ({"bootstrap": "never"}, {"bootstrap_set": "A14"}):
        with pytest.raises(UserError, match="programs on arrays run on CKKS, not 'bfv'; write squares as a circuit"):
            lw.compile(lw.program(squares), scheme="bfv", **options)

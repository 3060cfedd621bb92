"""Circuits that cannot be compiled are refused at the user's line, with what to do instead."""

import inspect
import warnings

import numpy as np
import pytest

import latticework as lw
from latticework.errors import DtypeError, LevelError, RangeError, TraceError, UnsupportedError, UserError
from latticework.frontend import trace_circuit


def branch(x):
    if x:  # here
        return x
    return -x


def compare(x):
    return x * (x > 0)  # here


def equal(x):
    return x * (x == 1)  # here


def loop_on_a_secret(x):
    while x:  # here
        x = x - 1
    return x


def divide(x):
    return 1 / x  # here


def divide_by(x):
    return x / (x + 1)  # here


def half(x):
    return x / 2  # here


def fraction(x):
    return 0.5 * x  # here


def text(x):
    return x + "1"  # here


def root(x):
    return np.sqrt(np.array([x * x]))[0]  # here


def remainder(x):
    return x % 2  # here


def relu(x):
    return lw.relu(x)  # here


def absolute(x):
    return abs(x)  # here


def huge(x):
    return x + 10**400  # here


def formatted(x):
    return f"{x:.2f}"  # here


def index(x):
    return [1, 2, 3][x]  # here


def index_of_an_array(x):
    return np.arange(5)[x]  # here


def determinant(x):
    return np.linalg.det(np.array([[x, 1], [1, x]]))  # here


def keyed(x):
    return {0: x, 1: -x}[x]  # here


def member(x):
    return x in {0, 1}  # here


def in_place(x):
    total = np.zeros(2)
    total += np.array([x, x])  # here
    return total


def equal_lists(x):
    if np.array_equal([x], [x]):  # here
        return x
    return -x


def mismatch(x):
    return np.array([x, x]) + np.ones(3)  # here


def endless(x):
    while True:
        x = x + 1  # here


def endless_and_equal(x):
    while True:
        x * x  # here


def tall(x):
    return x**2.5  # here


def nothing(x):
    pass


REFUSED = [
    (branch, TraceError, "a branch on an encrypted number.*lw.select"),
    (compare, TraceError, "cannot be compared.*lw.select"),
    (equal, TraceError, "cannot be compared"),
    (loop_on_a_secret, TraceError, "a branch on an encrypted number.*a loop needs a bound"),
    (divide, TraceError, "divided by an encrypted one"),
    (divide_by, TraceError, "an encrypted number is divided by another"),
    (half, TraceError, "BFV computes on integers and has no division"),
    (fraction, DtypeError, "0.5 is no integer.*fixed point"),
    (text, DtypeError, "a str meets an encrypted number"),
    (root, UnsupportedError, "sqrt has no encrypted counterpart"),
    (
        remainder,
        TraceError,
        "has no %, // and bit operations, in a circuit on real numbers: compile it with scheme=.bfv",
    ),
    (huge, RangeError, "a public integer of 1329 bits; at most 2\\^53"),
    (formatted, TraceError, "used where its value has to be known"),
    (relu, UnsupportedError, "functions that are approximated belong to programs on arrays"),
    (absolute, TraceError, "cannot be compared"),
    (index, TraceError, "used where its value has to be known"),
    (index_of_an_array, TraceError, "used where its value has to be known"),
    (determinant, TraceError, "stops with UFuncTypeError of np.linalg.det.*write it as a polynomial"),
    (keyed, TraceError, "a key of a dictionary or a set"),
    (member, TraceError, "a key of a dictionary or a set, .*lw.isin"),
    (in_place, TraceError, r"stops with UFuncTypeError of np.add.*y = y \+ x"),
    (equal_lists, TraceError, "cannot be compared"),
    (mismatch, TraceError, r"stops with ValueError: .*\(2,\) \(3,\)"),
    (endless, TraceError, "more than 1,000 operations here; a loop without end"),
    (endless_and_equal, TraceError, "more than 1,000 operations here"),
    (tall, RangeError, r"the exponent must be a whole number from 0 to 1024"),
    (nothing, TraceError, "None as result; return numbers"),
]


@pytest.mark.parametrize(("function", "error", "message"), REFUSED, ids=[case[0].__name__ for case in REFUSED])
def test_refusals_name_the_line(function, error, message):
    lines, first = inspect.getsourcelines(function)
    line = next((first + i for i, text in enumerate(lines) if "# here" in text), first)
    function.__annotations__ = {"x": lw.scalar()}
    with pytest.raises(error, match=message) as caught:
        trace_circuit(lw.circuit(function), max_operations=1000)
    assert str(caught.value).startswith(f"{__file__}:{line}:")


def test_what_the_function_itself_raises_passes():
    @lw.circuit
    def f(x: lw.scalar(), table):
        if len(table) != 2:
            raise ValueError("two entries")
        return x * table[x.missing if table[0] else 1]

    for table, kind in (([0], ValueError), ([0, 1], None), ([1, 1], TraceError)):
        if kind is None:
            trace_circuit(f, ([0, 1],))
        else:
            with pytest.raises(kind) as caught:
                trace_circuit(f, (table,))
            assert type(caught.value) is kind


def test_real_numbers_may_be_divided_by_public_ones():
    half.__annotations__ = fraction.__annotations__ = {"x": lw.scalar()}
    for function in (half, fraction):
        assert trace_circuit(lw.circuit(function), dtype="float64").written.mul_constants == 1


def test_what_fits_no_ring_names_the_loop_of_its_products():
    @lw.circuit
    def deep(x: lw.scalar()):
        for _ in range(40):
            x = x * x
        return x

    with pytest.raises(LevelError) as caught:
        lw.compile(deep, scheme="bfv", algorithm="scalar")
    assert str(caught.value).startswith(f"{deep.loc.file}:{deep.loc.line + 1}: circuit deep multiplies")


def test_numbers_of_an_earlier_run_are_refused():
    kept = []

    @lw.circuit
    def keep(x: lw.scalar()):
        kept.append(x)
        return x + kept[0]

    trace_circuit(keep)
    with pytest.raises(TraceError, match="a number of an earlier run of circuit keep is used"):
        trace_circuit(keep)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "best"}, "algorithm='best'; give one of 'search', 'annealing', 'scalar'"),
        ({"effort": 3}, "effort=3; give one of 'fast', 'normal', 'max'"),
        ({"seed": -1}, "seed=-1; give a whole number"),
        ({"scheme": "tfhe"}, "scheme='tfhe'"),
        ({"calibrate": {"y": [1]}}, "calibrate: the inputs are x; got y"),
        ({"calibrate": np.ones((2, 2))}, r"data for x have shape \(2, 2\)"),
    ],
)
def test_bad_options(options, message):
    @lw.circuit
    def f(x: lw.scalar()):
        return x * x

    with pytest.raises(UserError, match=message):
        lw.compile(f, **options)


def test_bad_annotations():
    with pytest.raises(UserError, match="sizes are whole numbers of at least 1"):
        lw.vector(0)
    with pytest.raises(TraceError, match="write @lw.circuit, without parentheses"):
        lw.circuit(3)
    with pytest.raises(TraceError, match=r"an annotation lw.vector lacks its size"):

        @lw.circuit
        def f(x: lw.vector):
            return x

    with pytest.raises(RangeError, match="low below high"):
        lw.scalar(low=1, high=0)
    with pytest.raises(TraceError, match="input x has a default value"):

        @lw.circuit
        def g(x: lw.scalar() = 3):
            return x


def test_nothing_is_warned_about_without_reason():
    @lw.circuit
    def f(x: lw.scalar()):
        return x * x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace_circuit(f)

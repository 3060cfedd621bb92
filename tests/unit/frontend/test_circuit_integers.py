"""Comparisons, remainders and operations on bits of circuits give what Python gives, by every way to compute them."""

import inspect
import itertools
import re
import warnings
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from integer_circuits import PLAIN_MODULUS, checked

import latticework as lw
from latticework.compiler.lanes.lane_graph import MUL
from latticework.errors import DtypeError, FormatError, RangeError, TraceError
from latticework.frontend import trace_circuit
from latticework.frontend.circuits.integers.integer_arithmetic import Arithmetic
from latticework.plan.files.check_file import check_arguments

NONE = inf, inf  # the price of what no ring holds
SMALL = lw.scalar(low=-5, high=6)
DIGITS = lw.bits(3)


def comparisons(a, b):
    return [a == b, a != b, a < b, a <= b, a > b, a >= b, lw.minimum(a, b), lw.maximum(a, b)]


def bits(a, b):
    return [a & b, a | b, a ^ b, ~a, a & ~b, (a | ~b) < b, ~a & ~b, (~a) >> 1]


def with_public(a, b):
    return [
        *(f(a) for c in (-9, -3, 0, 1, 2, 5, 8) for f in (
            lambda x, c=c: x == c, lambda x, c=c: x < c, lambda x, c=c: c < x, lambda x, c=c: c >= x,
            lambda x, c=c: x & c, lambda x, c=c: c | x, lambda x, c=c: x ^ c, lambda x, c=c: x % (c or 3),
            lambda x, c=c: x // (c or 4), lambda x, c=c: lw.minimum(x, c),
        )),
        *(f(b) for k in (0, 1, 2, 4) for f in (lambda x, k=k: x << k, lambda x, k=k: x >> k, lambda x, k=k: x % (1 << k))),
        *divmod(b, 4), abs(a), abs(a - b), a.bit_count(), (a == b).bit_count(),
    ]  # fmt: skip


def logic(a, b):
    less, equal = a < b, a == b
    return [less & ~+equal & 1, less | equal, less ^ equal, (less & (a > 0)) + 2 * equal, 1 - less, less < equal]


def choices(a, b):
    return [
        lw.select(a < b, a, b) ^ 1, lw.select(a == b, 7, a) & 3, lw.select(a < 2, 5, 3) % 4,
        lw.maximum(a, b, 3, a + 1),
        lw.minimum(lw.maximum(a, b), 2) == a, lw.table(a - b, lambda d: d * d), lw.isin(a, [1, 2, 5]), lw.isin(a, [b, 3]),
    ]  # fmt: skip


@pytest.mark.parametrize("function", [comparisons, bits, with_public, logic, choices], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kinds", [(DIGITS, DIGITS), (SMALL, SMALL), (DIGITS, SMALL)], ids=["bits", "ranges", "mixed"])
def test_every_operator_on_all_small_numbers(function, kinds):
    spans = [range(8) if kind.bits else range(-5, 7) for kind in kinds]
    scalars = checked(function, kinds, list(itertools.product(*spans)))
    if function is comparisons:
        assert scalars.traced.is_modular == (kinds != (DIGITS, DIGITS))


@pytest.mark.parametrize("width", [1, 2, 7, 16, 20])
def test_comparisons_of_words(width):
    rng = np.random.default_rng(width)
    runs = [tuple(map(int, rng.integers(0, 1 << width, 2))) for _ in range(60)]
    runs += [(a, a) for a, _ in runs[:10]] + [(a, a ^ 1) for a, _ in runs[:10]] + [(0, (1 << width) - 1)]
    scalars = checked(comparisons, (lw.bits(width), lw.bits(width)), runs, modulus=2752513)
    assert scalars.graph.depth((MUL,)) <= 2 + (width - 1).bit_length()


@pytest.mark.parametrize(("modulus", "values"), [(257, 100), (7681, 3000), (PLAIN_MODULUS, 5)])
def test_equality_takes_the_shallowest_way(modulus, values):
    rng = np.random.default_rng(modulus)
    runs = [tuple(map(int, rng.integers(0, values, 2))) for _ in range(50)] + [(i, i) for i in range(5)]

    def equal(a, b):
        return [a == b, a != b, lw.isin(a, [0, 1, 3]), lw.isin(b, [a, 2])]

    kind = lw.scalar(low=0, high=values - 1)
    scalars = checked(equal, (kind, kind), runs, modulus=modulus)
    assert scalars.graph.depth((MUL,)) <= min((modulus - 2).bit_length(), 2 + values.bit_length()) + 2


def test_words_that_are_wider_than_the_modulus_are_compared_exactly():
    rng = np.random.default_rng(5)
    runs = [tuple(map(int, rng.integers(0, 1 << 50, 2))) for _ in range(20)] + [(1 << 49, 1 << 49), (5, 1 << 50)]

    def wide(a, b):
        return [a < b, a == b, (a ^ b).bit_count(), (a >> 40) & 255, lw.isin(a, [b, 1 << 49])]

    checked(wide, (lw.bits(51), lw.bits(51)), runs)


def test_arrays_of_words():
    rng = np.random.default_rng(6)
    runs = [(rng.integers(0, 16, 3).tolist(), rng.integers(0, 16, (2, 2)).tolist()) for _ in range(20)]

    def of_arrays(v, m):
        return [
            *lw.maximum(v, 7), lw.minimum(*v), *np.ravel(lw.select(v[0] < v[1], m, m.T)), *np.ravel(m & 6), *(v >> 1),
            *np.ravel(v[:2] ^ m), lw.isin(v, [3, 4]).sum(), *np.ravel(lw.table(m, list(range(0, 32, 2)))), m.sum() + v @ v,
        ]  # fmt: skip

    checked(of_arrays, (lw.bits(4, 3), lw.bits(4, 2, 2)), runs)


# -- refusals ----------------------------------------------------------------------------------------------------------

WIDE = lw.scalar(low=0, high=40_000)


def less_of_wide(x):
    return x < 20_000  # here


def equal_of_wide(x):
    return x * x == 4  # here


def remainder_of_wide(x):
    return x % 10  # here


def bits_of_wide(x):
    return (x & 3) + (x ^ x)  # here


def shifted_by_a_secret(x):
    return 1 << (x & 1)  # here


def divided_by_a_secret(x):
    return x % (x + 1)  # here


def divided_by_nothing(x):
    return x // 0  # here


def far(x):
    return x >> 65  # here


def smaller(x):
    return min(x, 3)  # here


def both_of(x):
    return x > 3 and x < 5  # here


def between(x):
    return 3 < x < 7  # here


def member_of(x):
    return x in [2, 3]  # here


def without_a_value(x):
    return lw.table(x, [1, 2, 3])  # here


def of_arrays(x):
    return np.array([x, x]) == np.array([3, 4])  # here


REFUSED = [
    (less_of_wide, WIDE, RangeError, r"< of numbers whose difference lies between -20000 and 20000: a table has at most "
     r"1025 values; declare narrower ranges of the inputs \(low=, high=\), or take them as lw.bits\(n\)"),
    (less_of_wide, lw.scalar(), RangeError, "lies between -413216 and 373216"),
    (equal_of_wide, WIDE, RangeError, "== of numbers whose difference lies between -4 and 1599999996: a table has at "
     r"most 1025 values; and difference \*\* 786432 takes 20 products in a row, for which"),
    (remainder_of_wide, WIDE, RangeError, r"% 10 of a number that lies between 0 and 40000: a table has at most 1025"),
    (bits_of_wide, WIDE, RangeError, "& 3 of a number that lies between 0 and 40000"),
    (shifted_by_a_secret, lw.bits(4), TraceError, "shifts by one .* have no encrypted counterpart"),
    (divided_by_a_secret, lw.bits(4), TraceError, "% by an encrypted number; only public divisors are possible"),
    (divided_by_nothing, lw.bits(4), RangeError, "// 0: an encrypted number is divided by 0"),
    (far, lw.bits(4), RangeError, ">> 65: give a number of steps from 0 to 64"),
    (smaller, lw.bits(4), TraceError, "a branch on an encrypted number.*; min and max are lw.minimum and lw.maximum$"),
    (both_of, lw.bits(4), TraceError, "`a and b` is a & b, .*`not a` is 1 - a$"),
    (between, lw.bits(4), TraceError, r"; a < b < c is \(a < b\) & \(b < c\)$"),
    (member_of, lw.bits(4), TraceError, r"; `x in values` is lw.isin\(x, values\)$"),
    (without_a_value, lw.scalar(low=0, high=5), RangeError, "lw.table: there is no value for 3, only for 0 to 2"),
    (of_arrays, lw.bits(4), TraceError, "arrays are compared element by element"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "kind", "error", "message"), REFUSED, ids=[case[0].__name__ for case in REFUSED])
def test_what_is_absurd_is_refused_with_the_remedy(function, kind, error, message):
    lines, first = inspect.getsourcelines(function)
    line = first + next(i for i, text in enumerate(lines) if "# here" in text)
    function.__annotations__ = {"x": kind}
    with pytest.raises(error, match=message) as caught:
        trace_circuit(
            lw.circuit(function), arithmetic=Arithmetic(PLAIN_MODULUS, lambda d, n: (d, n) if d < 20 else NONE)
        )
    assert str(caught.value).startswith(f"{__file__}:{line}:")


def test_real_numbers_are_referred_to_whole_ones():
    @lw.circuit
    def compare(x: lw.scalar(low=0, high=3)):
        return x < 2

    with pytest.raises(TraceError, match="in a circuit on real numbers: compile it with scheme=.bfv."):
        lw.compile(compare)

    @lw.circuit
    def digits(x: lw.bits(4)):
        return x + 1

    with pytest.raises(
        TraceError, match=r"circuit digits, input x: lw.bits\(4\) are whole numbers; compile with scheme="
    ):
        lw.compile(digits)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.bits(0), "lw.bits: width=0; give the number of binary digits, 1 to 53"),
        (lambda: lw.bits(54), "width=54"),
        (lambda: lw.bits(4, 0), "lw.bits: sizes are whole numbers of at least 1"),
        (lambda: lw.bits(4, 2, 2, 2), r"lw.bits: shape \(2, 2, 2\); give no size, a length, or rows and columns"),
        (lambda: lw.circuit(annotated(lw.bits)), r"an annotation lw.bits lacks its size; write lw.bits\(16\)"),
        (lambda: lw.circuit(annotated(lw.bits(3)))(8), r"circuit f, input x holds 8; lw.bits\(3\) are 0 to 7"),
        (lambda: lw.minimum(), "lw.minimum of nothing"),
    ],
)
def test_bad_bits(make, message):
    with pytest.raises(lw.UserError, match=message):
        make()


def annotated(kind):
    def f(x):
        return x

    f.__annotations__ = {"x": kind}
    return f


# -- encrypted ---------------------------------------------------------------------------------------------------------


def test_decrypted_results_are_those_of_python(tmp_path):
    @lw.circuit
    def everything(a: lw.bits(4, 2), b: lw.scalar(low=-3, high=4), c: lw.bits(4)):
        highest = lw.maximum(*a)
        return [a[0] < a[1], highest, highest == c, (a[0] ^ c).bit_count(), b < 1, b % 3, lw.select(b == 2, c, b)]

    model = lw.compile(everything, scheme="bfv", ring_degree=1024, insecure=True, algorithm="scalar")
    model.client().save(tmp_path / "client.lwclient")
    client = lw.Client.load(tmp_path / "client.lwclient", allow_insecure=True)
    server = model.server(client.keygen().public())
    for a, b, c in (([3, 9], 2, 9), ([15, 15], -3, 0), ([0, 8], 1, 15)):
        got = client.decrypt(server(client.encrypt(a=a, b=b, c=c))).reveal()
        assert got.tolist() == [int(x) for x in everything(a, b, c)]
    assert np.rint(model.simulate(a=a, b=b, c=c)).astype(int).tolist() == got.tolist()
    rows = dict(a=[[3, 9], [12, 4]], b=[2, 1], c=9)
    both = client.decrypt(server(client.encrypt(**rows))).reveal().tolist()
    assert both == [[int(x) for x in everything(a, b, 9)] for a, b in (([3, 9], 2), ([12, 4], 1))]
    text = model.report().text()
    assert re.search(r"^ +a .* 0 to 15, as 4 digits", text, re.MULTILINE)
    assert re.search(r"^ +b .* -3 to 4 ", text, re.MULTILINE) and "0 to 15, as 4 digits" in model.report().html()
    with pytest.raises(
        RangeError, match=r"input a, column 1 is outside 0 to 15, which lw.bits\(4\) takes: declare more bits"
    ):
        client.encrypt(a=[3, 16], b=0, c=0)
    with pytest.raises(DtypeError, match="input a, column 1 is no integer: give whole numbers"):
        client.encrypt(a=[3, 2.5], b=0, c=0)


def test_nothing_is_warned_of_where_comparisons_are_exact():
    @lw.circuit
    def equal(a: lw.scalar(), b: lw.scalar()):  # no range: whatever the client accepts
        return 1000 * (a == b)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = lw.compile(
            equal, scheme="bfv", ring_degree=1024, insecure=True, plain_modulus=12289, algorithm="scalar"
        )
    client = model.client(allow_insecure=True)
    server = model.server(client.keygen().public())
    got = [int(client.decrypt(server(client.encrypt(a=a, b=-6144))).reveal()) for a in (-6144, 6144)]
    assert got == [1000, 0]


def test_digits_of_a_file_hold_the_whole_range():
    spec = lw.compile(lw.circuit(annotated(lw.bits(3))), scheme="bfv", ring_degree=1024, insecure=True).plan.client
    check_arguments(spec)
    for change in ({"high": 15.0}, {"low": None, "high": None}, {"bits": 54}, {"bits": 2}):
        arguments = (replace(spec.arguments[0], **change),)
        with pytest.raises(FormatError, match="argument 'x' "):
            check_arguments(replace(spec, arguments=arguments))


def test_values_of_a_table_have_their_own_range_not_that_of_its_polynomial():
    def charge(a):  # at 2 and 3 the polynomial 400000 a of these residues is far from them
        return (lw.table(a, [13567, -372866], low=2) > -372866) * 1

    kind = lw.scalar(low=2, high=3)
    traced = checked(lambda a: lw.table(a, [13567, -372866], low=2), (kind,), [(2,), (3,)]).traced
    assert traced.ranges == ((-372866, 13567),)
    with pytest.raises(RangeError, match="difference lies between -386433 and 0"):
        checked(charge, (kind,), [(2,), (3,)])


def test_a_table_shares_its_residue_but_not_its_range_with_an_equal_product():
    def near(number):
        rest = number % PLAIN_MODULUS
        return rest - PLAIN_MODULUS if rest > PLAIN_MODULUS // 2 else rest

    runs = [(v,) for v in range(-5, 6)]
    checked(lambda a: [lw.table(a, lambda v: near(300000 * v)), 300000 * a], (lw.scalar(low=-5, high=5),), runs)
    checked(lambda a: [300000 * a, lw.table(a, lambda v: near(300000 * v))], (lw.scalar(low=-5, high=5),), runs)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda a: lw.table(a, lambda v: 1000000 * v), "lw.table gives 6000000"),
        (lambda a: 1 * (lw.table(a, lambda v: PLAIN_MODULUS * (v > 0)) == 0), "lw.table gives 786433"),
        (lambda a: a % PLAIN_MODULUS, "% 786433 gives 786432"),
    ],
)
def test_values_of_a_table_that_wrap_around_are_refused(function, value):
    with pytest.raises(RangeError, match=rf"{value}, and integers modulo 786433 hold -393216 to 393216: compile with "):
        checked(function, (SMALL,), [(0,)])

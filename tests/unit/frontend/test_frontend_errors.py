"""Every mistake in a program is answered with the user's own line, the numbers and a remedy."""

import math

import numpy as np
import pytest

from latticework import frontend as lw
from latticework.errors import DtypeError, LayoutError, RangeError, ShapeError, TraceError, UnsupportedError

PLAIN = np.ones((3, 4))


def traced(use):
    """Trace `use` on a secret x (3, 4), a secret scalar s and a run-time index n."""

    @lw.program
    def holder(x: lw.Secret[3, 4], s: lw.Secret[()], n: lw.Index):
        use(x, s, n)
        return x + 1

    return lw.trace(holder)


def assign(x):
    x[0] = 1.0


def assign_into(array, value):
    array[0] = value


def add_in_place(target, x):
    target += x


def loop(x, count, body=lambda i, h: h):
    return lw.for_loop(count, body, x)


MISTAKES = {
    "if": (lambda x, s, n: 1 if s else 2, TraceError, r"if, while.*secret array s.*lw\.where"),
    "while": (lambda x, s, n: [0 for _ in iter(lambda: bool(x), False)], TraceError, "lw.for_loop"),
    "and": (lambda x, s, n: s and x, TraceError, "True or False"),
    "comparison": (
        lambda x, s, n: x > 0,
        TraceError,
        r"cannot be compared.*lw\.greater\(.*gap=.*lw\.sigmoid.*lw\.where",
    ),
    "place of the largest": (lambda x, s, n: np.argmax(x), UnsupportedError, r"np\.argmax is .*lw\.argmax\(x, gap="),
    "largest": (lambda x, s, n: np.max(x), UnsupportedError, r"np\.max is not supported.*np\.maximum\(a, b\)"),
    "equality": (lambda x, s, n: x == PLAIN, TraceError, "cannot be compared"),
    "array comparison": (
        lambda x, s, n: np.less(PLAIN, x),
        UnsupportedError,
        "np.less is not supported.*cannot be compared",
    ),
    "in": (lambda x, s, n: 3 in x, TraceError, "`in` needs"),
    "max builtin": (lambda x, s, n: max(x[0]), TraceError, "comparison"),
    "float": (lambda x, s, n: float(s), TraceError, r"float\(\).*secret array s \(\).*decrypt"),
    "int": (lambda x, s, n: int(s), TraceError, r"int\(\)"),
    "complex": (lambda x, s, n: complex(s), TraceError, r"complex\(\)"),
    "range": (lambda x, s, n: range(s), TraceError, "integer.*lw.Index"),
    "math": (lambda x, s, n: math.sqrt(s), TraceError, "no value"),
    "item assignment": (lambda x, s, n: assign(x), TraceError, "immutable.*mask"),
    "assignment into array": (lambda x, s, n: assign_into(np.zeros((3, 4)), x), TraceError, "NumPy asks for"),
    "in place": (lambda x, s, n: add_in_place(x, 1), TraceError, r"x = x \+ y"),
    "in place on array": (lambda x, s, n: add_in_place(np.zeros((3, 4)), x), UnsupportedError, r"y = y \+ x"),
    "out=": (lambda x, s, n: np.add(x, 1, out=PLAIN), UnsupportedError, "out="),
    "asarray": (lambda x, s, n: np.asarray(x), TraceError, "np.asarray.*operators"),
    "array of secrets": (lambda x, s, n: np.array([s, s]), TraceError, "np.array"),
    "list of secrets": (lambda x, s, n: x * [s, s, s, s], TraceError, "np.array"),
    "ndarray.dot": (lambda x, s, n: np.ones(3).dot(x), TraceError, "w @ x"),
    "iterate scalar": (lambda x, s, n: list(s), TraceError, "iteration.*scalar"),
    "len of scalar": (lambda x, s, n: len(s), TraceError, "len"),
    "subscript of a list": (lambda x, s, n: [1, 2][s], TraceError, "a subscript.*lw.Index"),
    "format": (lambda x, s, n: f"{s:.3f}", TraceError, "a format needs numbers.*decrypt"),
    "set": (lambda x, s, n: {s}, TraceError, "a set, or a key"),
    "comparison that NumPy hides": (lambda x, s, n: np.array_equal([s], [s]), TraceError, "NumPy asks for"),
    "method of nothing": (lambda x, s, n: x.sqrt(), TraceError, "program holder stops with AttributeError.*'sqrt'"),
    "divmod": (lambda x, s, n: divmod(x, 2), UnsupportedError, "np.divmod"),
    "third argument of pow": (lambda x, s, n: pow(x, 2, 5), TraceError, "modulus"),
    "option of a method": (lambda x, s, n: x.sum(axis=0, initial=1.0), UnsupportedError, "np.sum: the option initial="),
    "too few axes": (lambda x, s, n: np.vsplit(s.reshape(1), 1), ShapeError, "no rows"),
    "index as a key": (lambda x, s, n: {n}, TraceError, "a set"),
    "too many to unpack": (lambda x, s, n: s[0], ShapeError, r"1 subscripts for shape \(\)"),
    "index outside": (lambda x, s, n: x[0, 4], ShapeError, r"4 is outside axis 1 of shape \(3, 4\).*-4 to 3"),
    "empty slice": (lambda x, s, n: x[2:2], ShapeError, r"\(0, 4\).*empty"),
    "two ellipses": (lambda x, s, n: x[..., ...], ShapeError, "ellipsis"),
    "mask of another shape": (
        lambda x, s, n: x[np.ones(4, bool)],
        ShapeError,
        r"mask of shape \(4,\) meets axes 0 to 0",
    ),
    "mask that chooses nothing": (lambda x, s, n: x[np.zeros(3, bool)], ShapeError, "no element.*at least one"),
    "list outside": (lambda x, s, n: x[:, [0, 4]], ShapeError, r"4 is outside axis 1 of shape \(3, 4\).*-4 to 3"),
    "lists of two lengths": (lambda x, s, n: x[[0, 1], [0, 1, 2]], ShapeError, r"\(2,\), \(3,\).*broadcast.*np.ix_"),
    "list of floats": (lambda x, s, n: x[[0.5, 1.0]], UnsupportedError, "dtype float64 is no subscript"),
    "truth value as index": (lambda x, s, n: x[True], UnsupportedError, "True is no subscript"),
    "secrets in a list as index": (lambda x, s, n: x[[s, 0]], TraceError, "has no value"),
    "too many lists": (lambda x, s, n: x[[0], [0], [0]], ShapeError, r"3 subscripts for shape \(3, 4\)"),
    "float as index": (lambda x, s, n: x[1.0], UnsupportedError, "float is no subscript"),
    "secret as index": (lambda x, s, n: x[s], TraceError, "subscripted by a secret"),
    "weight by secret": (lambda x, s, n: PLAIN[s], TraceError, "no value"),
    "shape of add": (lambda x, s, n: x + np.ones((2, 4)), ShapeError, r"\(3, 4\) and \(2, 4\).*3 long.*2 in"),
    "shape of matmul": (
        lambda x, s, n: x @ np.ones((3, 2)),
        ShapeError,
        r"\(3, 4\) and \(3, 2\).*4 long.*3; transpose",
    ),
    "matmul scalar": (lambda x, s, n: x @ 2.0, ShapeError, "multiply with"),
    "shape of reshape": (lambda x, s, n: x.reshape(5, 2), ShapeError, "12 elements"),
    "reshape -1": (lambda x, s, n: x.reshape(5, -1), ShapeError, "does not fit"),
    "reshape order": (lambda x, s, n: np.reshape(x, (4, 3), order="F"), UnsupportedError, "C order"),
    "axis": (lambda x, s, n: np.sum(x, axis=2), ShapeError, "axis 2 does not exist.*-2 to 1"),
    "axis twice": (lambda x, s, n: np.sum(x, axis=(0, -2)), ShapeError, "repeated"),
    "transpose": (lambda x, s, n: np.transpose(x, (0,)), ShapeError, "2 axes"),
    "squeeze": (lambda x, s, n: np.squeeze(x, 0), ShapeError, "3 long, not 1"),
    "broadcast_to": (lambda x, s, n: np.broadcast_to(x, (1, 4)), ShapeError, "shrink"),
    "divide by zero": (lambda x, s, n: x / np.array([1, 0, 2, 0]), RangeError, "2 of the divisor's 4 elements"),
    "power": (lambda x, s, n: x**s, UnsupportedError, r"both secret.*np.exp\(exponent \* np.log\(base\)\)"),
    "negative base": (lambda x, s, n: (-2.0) ** x, RangeError, "base is -2 and the exponent is secret"),
    "power array": (lambda x, s, n: x ** np.array([1, 2, 3, 4]), UnsupportedError, r"shape \(4,\)"),
    "floor division": (lambda x, s, n: x // 2, UnsupportedError, "np.floor_divide"),
    "modulo": (lambda x, s, n: 5 % x, UnsupportedError, "np.remainder"),
    "sign": (lambda x, s, n: np.sign(x), UnsupportedError, r"lw\.sign\(x, gap=.*lw\.sigmoid\(k \* "),
    "round": (lambda x, s, n: round(s), UnsupportedError, "np.round"),
    "concatenate": (
        lambda x, s, n: np.concatenate([x, PLAIN[:, :3]]),
        ShapeError,
        r"concatenate: shapes \(3, 4\), \(3, 3\) do not fit along axis 0",
    ),
    "concatenate a scalar": (lambda x, s, n: np.concatenate([s, s]), ShapeError, "axis 0 does not exist"),
    "stack": (lambda x, s, n: np.stack([x, s]), ShapeError, r"stack: the arrays have shapes \(3, 4\), \(\)"),
    "split": (lambda x, s, n: np.split(x, 2), ShapeError, "3 long, not a multiple of 2.*np.array_split"),
    "split in too many": (lambda x, s, n: np.array_split(x, 4), ShapeError, "empty parts"),
    "pad": (lambda x, s, n: np.pad(x, -1), ShapeError, r"pad_width=-1 does not fit shape \(3, 4\)"),
    "pad mode": (lambda x, s, n: np.pad(x, 1, mode="mean"), UnsupportedError, "mode='mean'.*reflect"),
    "pad with a secret": (lambda x, s, n: np.pad(x, 1, constant_values=s), UnsupportedError, "one public number"),
    "roll": (lambda x, s, n: np.roll(x, 0.5), UnsupportedError, "shift=0.5"),
    "roll by a secret": (lambda x, s, n: np.roll(x, s), UnsupportedError, "public whole number"),
    "take": (lambda x, s, n: np.take(x, [3], axis=0), ShapeError, r"3 is outside axis 0 of shape \(3, 4\)"),
    "take by a secret": (lambda x, s, n: np.take(x, s), UnsupportedError, "it is secret"),
    "repeat": (lambda x, s, n: np.repeat(x, [1, 2], axis=0), ShapeError, r"each of the 3 elements along axis 0"),
    "repeat by a secret": (lambda x, s, n: np.repeat(x, s), UnsupportedError, "it is secret"),
    "tile": (lambda x, s, n: np.tile(x, 0), ShapeError, "reps=0"),
    "diagonal": (lambda x, s, n: np.diagonal(s), ShapeError, "a diagonal needs two"),
    "where": (lambda x, s, n: np.where(x, 1.0, 0.0), UnsupportedError, "condition is secret.*lw.where"),
    "where shapes": (lambda x, s, n: np.where(PLAIN[:, :3], x, 0), ShapeError, r"where: shapes \(3, 3\) and \(3, 4\)"),
    "average": (lambda x, s, n: np.average(x, weights=x), UnsupportedError, "weights are secret"),
    "var": (lambda x, s, n: np.var(s, ddof=1), RangeError, "ddof=1"),
    "einsum extents": (lambda x, s, n: np.einsum("ij,kj", x, PLAIN[:, :3]), ShapeError, "'j' is 4 long.*and 3"),
    "einsum axes": (lambda x, s, n: np.einsum("ijk->i", x), ShapeError, r"3 axes of shape|names 3 axes of"),
    "einsum operands": (lambda x, s, n: np.einsum("ij,jk", x), ShapeError, "names 2 arrays, 1 are given"),
    "einsum result": (lambda x, s, n: np.einsum("ij->k", x), ShapeError, "the result 'k'"),
    "convolve": (lambda x, s, n: np.convolve(x, PLAIN[0]), ShapeError, r"\(3, 4\) and \(4,\); both must have one axis"),
    "convolve two secrets": (lambda x, s, n: np.convolve(x[0], x[1]), UnsupportedError, "both sequences are secret"),
    "convolve by a longer one": (
        lambda x, s, n: np.convolve(x[0], np.ones(9), "same"),
        ShapeError,
        r"\(9\) must not be longer.*\(4\)",
    ),
    "correlate": (
        lambda x, s, n: np.correlate(np.ones(9), x[0]),
        UnsupportedError,
        "first sequence must be the secret",
    ),
    "einsum lists": (lambda x, s, n: np.einsum(x, [0, 1]), UnsupportedError, "subscripts as a text"),
    "tensordot": (lambda x, s, n: np.tensordot(x, PLAIN, 1), ShapeError, r"axes \(1,\).*\(0,\).*equally long"),
    "huge": (
        lambda x, s, n: np.broadcast_to(x, (1 << 23, 3, 4)),
        LayoutError,
        r"broadcast_to: .*\(8388608, 3, 4\), 100663296 elements.*in parts",
    ),
    "tile of huge": (lambda x, s, n: np.tile(x, (1, 1 << 24)), LayoutError, r"tile: .*\(3, 67108864\).*in parts"),
    "conv2d rank": (lambda x, s, n: lw.conv2d(x, np.ones((2, 3, 1, 1))), ShapeError, r"conv2d: x has shape \(3, 4\)"),
    "conv2d channels": (
        lambda x, s, n: lw.conv2d(x[None], np.ones((2, 3, 1, 1))),
        ShapeError,
        r"\(1, 3, 4\) has 1 channels, weight of shape \(2, 3, 1, 1\).*takes 3 and gives 2",
    ),
    "conv2d window": (
        lambda x, s, n: lw.conv2d(x[None], np.ones((2, 1, 5, 1))),
        ShapeError,
        "window of 5 does not fit",
    ),
    "conv2d stride": (lambda x, s, n: lw.conv2d(x[None], np.ones((2, 1, 1, 1)), stride=0), ShapeError, "stride=0"),
    "conv2d same": (
        lambda x, s, n: lw.conv2d(x[None], np.ones((2, 1, 3, 3)), stride=2, padding="same"),
        ShapeError,
        "padding='same' goes with stride=1",
    ),
    "conv2d bias": (
        lambda x, s, n: lw.conv2d(x[None], np.ones((2, 1, 1, 1)), [1.0]),
        ShapeError,
        r"bias has shape \(1,\)",
    ),
    "conv2d of two secrets": (
        lambda x, s, n: lw.conv2d(x[:2, None], x[:2, None, None, :2], groups=1),
        ShapeError,
        r"\(2, 1, 4\).*has 2 channels",
    ),
    "conv2d of two secrets in groups": (
        lambda x, s, n: lw.conv2d(x[:2, None], x[:2, None, None, :2], groups=2),
        UnsupportedError,
        "both secret, with groups=2.*np.concatenate",
    ),
    "conv2d text": (lambda x, s, n: lw.conv2d(x[None], "edge"), DtypeError, "type str"),
    "conv1d rank": (lambda x, s, n: lw.conv1d(x, np.ones((2, 3))), ShapeError, r"conv1d: weight has shape \(2, 3\)"),
    "pool": (lambda x, s, n: lw.avg_pool2d(x, 4), ShapeError, "avg_pool2d: a window of 4 does not fit"),
    "pool padding": (lambda x, s, n: lw.sum_pool2d(x, 2, padding=2), ShapeError, "more than half"),
    "pool rank": (lambda x, s, n: lw.sum_pool2d(s, 2), ShapeError, "no two axes"),
    "arrays in no list": (lambda x, s, n: np.concatenate(x), ShapeError, "list or tuple"),
    "repeat of huge": (lambda x, s, n: np.repeat(x, 1 << 24), LayoutError, r"repeat: .*in parts"),
    "unknown function": (
        lambda x, s, n: np.linalg.inv(x),
        UnsupportedError,
        r"np\.linalg\.inv is not supported.*it divides by what is secret.*return the matrix",
    ),
    "unknown ufunc method": (lambda x, s, n: np.multiply.outer(x, x), UnsupportedError, "multiply.outer"),
    "unknown option": (lambda x, s, n: np.sum(x, dtype=np.float32), UnsupportedError, "option dtype="),
    "missing method": (lambda x, s, n: x.argmax(), UnsupportedError, "x.argmax.*lw.argmax"),
    "astype": (lambda x, s, n: x.astype(int), DtypeError, "rounding"),
    "NaN": (
        lambda x, s, n: x * np.array([1, np.nan, 2, np.inf]),
        RangeError,
        r"2 of 4 elements.*first at index \(1,\)",
    ),
    "infinite scalar": (lambda x, s, n: x + math.inf, RangeError, "1 of 1 elements"),
    "object": (lambda x, s, n: x + np.array([None] * 4), DtypeError, "np.add: .*dtype object"),
    "string": (lambda x, s, n: s * "2", DtypeError, "type str"),
    "None": (lambda x, s, n: x + None, DtypeError, "NoneType"),
    "complex matrix": (
        lambda x, s, n: np.einsum("ij,jk", x, np.eye(4) * 1j),
        DtypeError,
        r"np.einsum: .*\(4, 4\).*\.real",
    ),
    "conv1d channels": (
        lambda x, s, n: lw.conv1d(x, np.ones((1, 2, 2))),
        ShapeError,
        "conv1d, as images of one row: .*has 3 channels",
    ),
    "complex operand": (lambda x, s, n: x * 1j, DtypeError, r"\.real"),
    "ragged": (lambda x, s, n: x * [[1], [1, 2]], DtypeError, "equal length"),
    "unknown degree": (lambda x, s, n: lw.relu(x, degree=0), RangeError, "degree=0 must be"),
    "empty range": (lambda x, s, n: lw.tanh(x, range=(2, 1)), RangeError, r"range \(2, 1\)"),
    "coefficients": (lambda x, s, n: lw.polynomial(x, []), RangeError, r"shape \(0,\)"),
    "index as weight": (lambda x, s, n: x * n, TraceError, "counter array"),
    "array by index": (lambda x, s, n: PLAIN * n, TraceError, "index n.*counter array"),
    "index times secret": (lambda x, s, n: n * x, TraceError, "counter array"),
    "index times float": (lambda x, s, n: n * 0.5, TraceError, "float.*integer arithmetic"),
    "index division": (lambda x, s, n: n // 2, TraceError, "added, subtracted and multiplied"),
    "index as subscript": (lambda x, s, n: x[0, n], ShapeError, "index n subscripts axis 1.*np.moveaxis"),
    "weight by index": (lambda x, s, n: PLAIN[n], TraceError, r"index n.*Python loop.*lw.public\(array\)"),
    "loop variable as number": (
        lambda x, s, n: loop(x, 3, lambda i, h: h * i),
        TraceError,
        "the loop variable i is used as a number.*only while the loop runs.*counter array",
    ),
    "number times loop variable": (
        lambda x, s, n: loop(x, n, lambda i, h: h + PLAIN * i),
        TraceError,
        "the loop variable i is used as a number.*counter array",
    ),
    "ufunc of loop variable": (
        lambda x, s, n: loop(x, 3, lambda i, h: np.multiply(h, i)),
        TraceError,
        "the loop variable i is used as a number.*counter array",
    ),
    "element at loop variable": (
        lambda x, s, n: loop(x, 3, lambda i, h: h + x[:, i]),
        ShapeError,
        "loop variable i subscripts axis 1.*along the slots of vectors",
    ),
    "weight at loop variable": (
        lambda x, s, n: loop(x, 3, lambda i, h: h + PLAIN[i]),
        TraceError,
        "the loop variable i is used as a number.*Python loop",
    ),
    "range of index": (lambda x, s, n: range(n), TraceError, "lw.for_loop"),
    "if index": (lambda x, s, n: 1 if n else 2, TraceError, "index n"),
    "compare index": (lambda x, s, n: n > 2, TraceError, "index n"),
    "float of index": (lambda x, s, n: float(n), TraceError, "index n"),
    "secret trip count": (lambda x, s, n: loop(x, s), TraceError, "cannot be secret"),
    "float trip count": (lambda x, s, n: loop(x, 2.5), DtypeError, "n is a float"),
    "negative trip count": (lambda x, s, n: loop(x, -1), RangeError, "n is -1"),
    "body without result": (lambda x, s, n: loop(x, n, lambda i, h: None), TraceError, "returned None"),
    "body's parameters": (lambda x, s, n: loop(x, n, lambda h: h), TraceError, r"define it as body\(i, carried0\)"),
    "body returns tuple": (lambda x, s, n: loop(x, n, lambda i, h: (h, h)), TraceError, "returned 2 values"),
    "body returns too few": (lambda x, s, n: loop((x, s), n, lambda i, h, k: h), TraceError, "2 arrays.*one value"),
    "body changes shape": (lambda x, s, n: loop(x, n, lambda i, h: h[:2]), ShapeError, r"array h.*\(3, 4\).*\(2, 4\)"),
    "nothing carried": (lambda x, s, n: loop((), n, lambda i: ()), TraceError, "empty tuple"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name):
    use, kind, pattern = MISTAKES[name]
    with pytest.raises(kind, match=pattern) as caught:
        traced(use)
    error = caught.value
    inner = {
        function.__code__.co_firstlineno: function.__name__ for function in (assign, assign_into, add_in_place, loop)
    }
    assert error.at.file == __file__
    line = error.at.line
    assert line == use.__code__.co_firstlineno or line - 1 in inner
    assert str(error).startswith(f"{__file__}:{line}: ")
    assert error.at.text


def test_missing_attributes_are_ordinary():
    def use(x, s, n):
        assert not hasattr(x, "argmax") and not hasattr(x, "no_such_thing")
        with pytest.raises(AttributeError, match="no attribute 'no_such_thing'"):
            x.no_such_thing

    traced(use)


def test_value_of_a_loop_body_outside_it():
    def use(x, s, n):
        kept = []
        lw.for_loop(3, lambda i, h: kept.append(h) or h + 1, x)
        return kept[0] + 1

    with pytest.raises(TraceError, match=r"inside the body.*return it") as caught:
        traced(use)
    assert caught.value.at.text == "return kept[0] + 1"


def test_value_of_an_earlier_run():
    kept = []
    traced(lambda x, s, n: kept.append(x))
    with pytest.raises(TraceError, match="earlier run of program holder") as caught:
        kept[0] + 1
    assert caught.value.at.text == "kept[0] + 1"
    with pytest.raises(TraceError, match="earlier run"):
        traced(lambda x, s, n: x + kept[0])


def test_error_inside_a_function_the_program_calls():
    def layer(x):
        return x @ np.ones((5, 2))

    with pytest.raises(ShapeError) as caught:
        traced(lambda x, s, n: layer(x))
    assert caught.value.at.text == "return x @ np.ones((5, 2))"

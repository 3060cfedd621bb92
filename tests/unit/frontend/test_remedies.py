"""Every NumPy function that is refused has a remedy of its own; what remedies say to write can be written, and is right."""

import re

import numpy as np
import pytest

import latticework as lw
from latticework.errors import UnsupportedError
from latticework.frontend import trace
from latticework.frontend.programs.traced_arrays import _ABOUT
from latticework.frontend.recording.tracing import NUMPY
from latticework.frontend.recording.unsupported import circuit_remedy, known_remedy, remedy
from latticework.ir import interpret

MODULES = (np, np.linalg, np.fft)


def refused_functions():
    """Functions of NumPy that ask a secret what they are to do, and are refused."""
    for module in MODULES:
        for name in dir(module):
            function = getattr(module, name)
            asks = isinstance(function, np.ufunc) or hasattr(function, "_implementation")
            if not name.startswith("_") and asks and function not in NUMPY and function not in _ABOUT:
                yield f"{module.__name__}.{name}", function


def test_every_refused_function_has_a_remedy_of_its_own():
    found = dict(refused_functions())
    assert len(found) > 150
    assert [name for name, function in found.items() if not known_remedy(function.__name__)] == []
    assert all("docs/programs.md" not in remedy(f.__name__) for f in found.values())
    assert "encrypt the bit" in circuit_remedy("sort") and circuit_remedy("hypot").startswith("write it as a poly")
    assert "y = y * (2 - x * y)" in circuit_remedy("inv")


SMALL = np.array([[1.1, 0.2], [-0.1, 0.9]])


def inverse_by_steps(x, steps):
    y = np.eye(2)
    for _ in range(steps):
        y = y @ (2 * np.eye(2) - x @ y)
    return y


def angles(n, k):
    return 2 * np.pi * np.outer(np.arange(n), np.arange(k)) / n


FORMULAS = {
    "hypot": (lambda x, y: np.hypot(x, y), lambda x, y: np.sqrt(x * x + y * y)),
    "logaddexp": (lambda x, y: np.logaddexp(x, y), lambda x, y: np.log(np.exp(x) + np.exp(y))),
    "trapezoid": (
        lambda x, y: getattr(np, "trapezoid", getattr(np, "trapz", None))(y),
        lambda x, y: np.sum(y[1:] + y[:-1]) / 2,
    ),
    "cumprod": (lambda x, y: np.cumprod(x), lambda x, y: np.stack([np.prod(x[: i + 1]) for i in range(4)])),
    "ediff1d": (lambda x, y: np.ediff1d(x), lambda x, y: np.diff(x.ravel())),
    "diagflat": (lambda x, y: np.diagflat(x), lambda x, y: np.diag(x.ravel())),
    "vander": (lambda x, y: np.vander(x, 3, increasing=True), lambda x, y: np.stack([x**i for i in range(3)], axis=1)),
    "cross": (
        lambda x, y: np.cross(x[:3], y[:3]),
        lambda a, b: np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]),
    ),
    "det": (
        lambda x, y: np.linalg.det(x.reshape(2, 2)),
        lambda x, y: x[0] * x[3] - x[1] * x[2],
    ),
    "rfft": (lambda x, y: np.fft.rfft(x).real, lambda x, y: x @ np.cos(angles(4, 3))),
    "fft": (lambda x, y: np.fft.rfft(x).imag, lambda x, y: -(x @ np.sin(angles(4, 3)))),
    "ifft": (
        lambda x, y: np.fft.ifft(x + 1j * y).real,
        lambda re, im: (re @ np.cos(angles(4, 4)) - im @ np.sin(angles(4, 4))) / 4,
    ),
    "inv": (
        lambda x, y: np.linalg.inv(SMALL),
        lambda x, y: inverse_by_steps(x.reshape(2, 2) * 0 + SMALL, steps=8),
    ),
    "putmask": (
        lambda x, y: np.where(np.array([0, 1, 0, 1]) > 0, y, x),
        lambda x, new: x * (1 - np.array([0, 1, 0, 1])) + new * np.array([0, 1, 0, 1]),
    ),
    "fftshift": (lambda x, y: np.fft.fftshift(x), lambda x, y: np.roll(x, 4 // 2)),
    "sliding_window_view": (
        lambda x, y: np.lib.stride_tricks.sliding_window_view(x, 2),
        lambda x, y: np.stack([x[i : i + 2] for i in range(4 - 2 + 1)]),
    ),
    "interp": (
        lambda x, y: np.interp(x, [0.0, 3.0], [1.0, 2.0]),
        lambda x, y: lw.approximate(lambda v: np.interp(v, [0.0, 3.0], [1.0, 2.0]))(x),
    ),
    "fmax": (lambda x, y: np.fmax(x, y), lambda a, b: b + lw.relu(a - b)),
    "clip": (lambda x, y: np.clip(x, 0, 1), lambda x, y: lw.relu(x) - lw.relu(x - 1)),
    "meshgrid": (lambda x, y: np.meshgrid(x, y)[0], lambda x, y: x[None, :] * np.ones((4, 1))),
    "linspace": (
        lambda x, y: np.linspace(x[0], y[0], 5),
        lambda x, y: x[0] + (y[0] - x[0]) * np.linspace(0, 1, 5),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_what_is_to_be_written_is_the_same(name):
    """And the function itself is refused with its remedy, at its line."""
    assert known_remedy(name)
    function, formula = FORMULAS[name]
    x, y = np.array([0.5, 1.5, 2.0, 1.0]), np.array([1.0, 0.25, 3.0, 2.0])

    @lw.program
    def written(x: lw.Secret[4], y: lw.Secret[4]):
        return formula(x, y)

    @lw.program
    def given(x: lw.Secret[4], y: lw.Secret[4]):
        return function(x, y)

    np.testing.assert_allclose(interpret(trace(written), [x, y])[0], function(x, y), atol=1e-12)
    if name not in ("ifft", "sliding_window_view", "inv", "putmask"):
        with pytest.raises(UnsupportedError, match=re.escape(remedy(name))) as caught:
            trace(given)
        assert caught.value.at.file == __file__


def test_functions_of_scipy_are_approximated():
    special = pytest.importorskip("scipy.special")
    data = np.random.default_rng(0).uniform(-3, 3, size=(50, 4))

    @lw.program
    def both(x: lw.Secret[4]):
        return special.expit(x), special.erf(x), lw.sigmoid(x)

    model = lw.compile(both, calibrate=data, ring_degree=8192, insecure=True)
    logistic, error, ours = model.plaintext(data[0])
    np.testing.assert_array_equal(logistic, ours)
    np.testing.assert_allclose(error, special.erf(data[0]), atol=2e-2)
    np.testing.assert_allclose(both(data[0])[1], special.erf(data[0]))

    @lw.program
    def of_two(x: lw.Secret[4]):
        return special.xlogy(x, x)

    with pytest.raises(UnsupportedError, match=r"^[^ ]+: xlogy is not supported .*write x \* np.log\(y\)"):
        trace(of_two)


EDGES = np.array([-1.0, -0.25, 0.5, 1.0])


def median_of_three(x):
    a, b, c = x[0], x[1], x[2]
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def sorted_of_four(x):
    """Each round puts neighbours in order."""
    parts = [x[i] for i in range(4)]
    for first in (0, 1, 0, 1):
        for i in range(first, 3, 2):
            parts[i : i + 2] = np.minimum(parts[i], parts[i + 1]), np.maximum(parts[i], parts[i + 1])
    return np.stack(parts)


def counted(x):
    above = np.stack([np.sum(lw.greater(x, edge, gap=0.01)) for edge in EDGES])
    return above[:-1] - above[1:]


ORDERS = {
    "sort": (np.sort, sorted_of_four),
    "median": (lambda x: np.median(x[:3]), median_of_three),
    "histogram": (lambda x: np.histogram(x, bins=EDGES)[0], counted),
    "digitize": (
        lambda x: np.digitize(x, EDGES),
        lambda x: np.sum(lw.greater(x[..., None], EDGES, gap=0.01), axis=-1),
    ),
    "max": (lambda x: np.max(x) > 0.5, lambda x: 1 - np.prod(1 - lw.greater(x, 0.5, gap=0.01))),
}


@pytest.mark.parametrize("name", ORDERS)
def test_what_serves_instead_of_an_order_can_be_written_and_is_right(name):
    wanted, formula = ORDERS[name]
    assert "lw.greater(x" in remedy(name)
    program = lw.program(with_kind(lambda x: formula(x)))
    module = trace(program)
    for x in np.random.default_rng(0).uniform(-0.98, 0.98, (20, 4)):
        if np.min(np.abs(x[:, None] - EDGES)) < 0.01:
            continue  # closer to an edge than the gap
        np.testing.assert_allclose(program(x), wanted(x), atol=1e-12)
        np.testing.assert_allclose(np.squeeze(interpret(module, {"x": x})[0]), wanted(x), atol=1e-12)


def with_kind(function):
    function.__annotations__ = {"x": lw.Secret[4]}
    return function


@pytest.mark.parametrize(
    "call", [np.sort, np.median, np.histogram, np.max, np.percentile, np.digitize], ids=lambda f: f.__name__
)
def test_refusals_of_orders_name_comparisons_with_edges(call):
    def ordered(x: lw.Secret[4]):
        return call(x, *([50] if call is np.percentile else [EDGES] if call is np.digitize else []))

    with pytest.raises(UnsupportedError, match=r"lw\.greater\(x") as caught:
        trace(lw.program(ordered))
    assert "call(x" in caught.value.at.text

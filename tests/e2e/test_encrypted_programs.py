"""Encrypted runs of whole programs against NumPy, to the precision that was asked for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, Deployed, uniform

import latticework as lw

PRECISION_BITS = 14
# Stopping distances of cars, feet by miles per hour: M. Ezekiel, Methods of Correlation Analysis (1930).
SPEEDS = np.repeat([4.0, *range(7, 21), *range(22, 26)], [2, 2, 1, 1, 3, 2, 4, 4, 4, 3, 2, 3, 4, 3, 5, 1, 1, 4, 1])
DISTANCES = np.concatenate(
    [
        [2.0, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20, 26],
        [54.0, 32, 40, 32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85],
    ]
)
FIT = np.polynomial.polynomial.polyfit(SPEEDS / 25, DISTANCES, 2)
MATRIX = uniform((5, 8), 1)
KERNELS, BIAS = uniform((3, 2, 3, 3), 4), uniform(3, 5)
HIDDEN, OUT = uniform((8, 6), 2), uniform((6, 3), 3)


@lw.program
def left_operand(x: lw.Secret[8], w):
    return w @ x


@lw.program
def stopping_distance(speed: lw.Secret[50]):
    return lw.polynomial(speed, FIT)


@lw.program
def moments(x: lw.Secret[32]):
    mean = np.mean(x)
    return mean, np.mean(np.square(x - mean))


@lw.program
def named(x: lw.Secret[4], y: lw.Secret[4]):
    return {"sum": x + y, "dot": np.dot(x, y), "negative": -x}


@lw.program
def secret_matmul(a: lw.Secret[3, 4], b: lw.Secret[4, 2]):
    return a @ b


@lw.program
def gram(a: lw.Secret[3, 4]):
    return a.T @ a


@lw.program
def slices(a: lw.Secret[4, 6]):
    return a[1:3, ::2] + a.T[:2, 1:4], a[-1], np.transpose(a)[5:2:-1]


@lw.program
def square_mlp(x: lw.Secret[4, 8], w1, w2):
    return np.square(x @ w1 + 0.5) @ w2


@lw.program
def convolution(x: lw.Secret[2, 6, 6], kernels, bias):
    return lw.avg_pool2d(np.square(lw.conv2d(x, kernels, bias, padding="same")), 2)


@lw.program
def attention(q: lw.Secret[2, 3, 4], k: lw.Secret[2, 3, 4], v: lw.Secret[2, 3, 2]):
    return lw.polynomial(np.einsum("hmd,hnd->hmn", q, k), [0.5, 0.25, 0.1]) @ v


@lw.program
def rearranged(x: lw.Secret[4, 3], y: lw.Secret[3]):
    joined = np.concatenate([x, y[None], np.ones((1, 3))])
    return joined[[5, 0, 3]], np.roll(joined, 2, axis=0), np.cumsum(joined, axis=1), np.prod(joined[:4], axis=0)


@lw.program
def wide_products(a: lw.Secret[48, 32], b: lw.Secret[32, 40]):
    """More elements than a small ring has slots: every array takes several ciphertexts."""
    return a @ b, (a * a).sum(axis=0), b.T @ a.T


@lw.program
def wide_layers(x: lw.Secret[2, 24, 24], kernels, bias):
    h = np.square(lw.conv2d(x, kernels, bias, padding="same"))
    return lw.avg_pool2d(h, 2).reshape(3, 144).mean(axis=1)


@dataclass
class Case:
    """A program and what NumPy, without latticework, makes of its inputs."""

    program: lw.Program
    oracle: Any
    shapes: tuple
    weights: tuple = ()
    scale: tuple[float, float] = (1.0, 0.0)  # inputs are uniform in [-1, 1], times and plus this

    def inputs(self, seed):
        factor, offset = self.scale
        return [factor * uniform(shape, seed + i) + offset for i, shape in enumerate(self.shapes)]


CASES = [
    Case(left_operand, lambda x: MATRIX @ x, ((8,),), (MATRIX,)),
    Case(stopping_distance, lambda s: FIT[0] + FIT[1] * s + FIT[2] * s**2, ((50,),), scale=(0.42, 0.58)),
    Case(moments, lambda x: (x.mean(), x.var()), ((32,),)),
    Case(named, lambda x, y: {"sum": x + y, "dot": (x * y).sum(), "negative": -x}, ((4,), (4,))),
    Case(secret_matmul, lambda a, b: np.einsum("ij,jk->ik", a, b), ((3, 4), (4, 2))),
    Case(gram, lambda a: np.einsum("ji,jk->ik", a, a), ((3, 4),)),
    Case(slices, lambda a: (a[1:3, [0, 2, 4]] + a[1:4, :2].T, a[3], a[:, [5, 4, 3]].T), ((4, 6),)),
    Case(convolution, lambda x: convolved(x), ((2, 6, 6),), (KERNELS, BIAS)),
    Case(attention, lambda q, k, v: attended(q, k, v), ((2, 3, 4), (2, 3, 4), (2, 3, 2))),
    Case(rearranged, lambda x, y: rearranged_by_hand(np.vstack([x, y, np.ones(3)])), ((4, 3), (3,))),
    Case(wide_products, lambda a, b: wide_by_hand(a, b), ((48, 32), (32, 40))),
    Case(wide_layers, lambda x: convolved(x).mean(axis=(1, 2)), ((2, 24, 24),), (KERNELS, BIAS)),
    Case(square_mlp, lambda x: (x @ HIDDEN + 0.5) ** 2 @ OUT, ((4, 8),), (HIDDEN, OUT)),
]


def convolved(x):
    """A convolution, its square and means of blocks, by sums of products."""
    side, framed = x.shape[-1], np.pad(x, ((0, 0), (1, 1), (1, 1)))
    parts = [
        np.einsum("oc,chw->ohw", KERNELS[:, :, i, j], framed[:, i : i + side, j : j + side])
        for i, j in np.ndindex(3, 3)
    ]
    return np.square(sum(parts) + BIAS[:, None, None]).reshape(3, side // 2, 2, side // 2, 2).mean(axis=(2, 4))


def wide_by_hand(a, b):
    product = np.stack([sum(row[k] * b[k] for k in range(len(b))) for row in a])
    return product, np.array([sum(x * x for x in column) for column in a.T]), product.T


def attended(q, k, v):
    scores = np.stack([a @ b.T for a, b in zip(q, k, strict=True)])
    return np.stack([a @ b for a, b in zip(0.5 + 0.25 * scores + 0.1 * scores**2, v, strict=True)])


def rearranged_by_hand(rows):
    return (
        np.stack([rows[5], rows[0], rows[3]]),
        np.stack([rows[4], rows[5], rows[0], rows[1], rows[2], rows[3]]),
        np.stack([rows[:, 0], rows[:, 0] + rows[:, 1], rows.sum(axis=1)], axis=1),
        rows[0] * rows[1] * rows[2] * rows[3],
    )


def as_dict(outputs):
    if isinstance(outputs, dict):
        return outputs
    return dict(enumerate(outputs)) if isinstance(outputs, tuple) else {0: outputs}


def check(outputs, wanted, magnitudes):
    """Same structure, names and shapes; every error within the stated bound, and that within what was asked for."""
    assert type(outputs) is type(wanted) or isinstance(outputs, lw.OwnerValue)
    outputs, wanted = as_dict(outputs), as_dict(wanted)
    assert list(outputs) == list(wanted)
    for (name, got), magnitude in zip(outputs.items(), magnitudes, strict=True):
        want = np.asarray(wanted[name])
        assert got.shape == want.shape
        assert np.max(np.abs(got.reveal() - want)) <= got.error_bound
        assert got.usual_error <= 2.0**-PRECISION_BITS * magnitude


def deploy(case, **parameters):
    rows = [case.inputs(100 * i) for i in range(24)]
    stacks = tuple(np.stack(column) for column in zip(*rows, strict=True))
    model = lw.compile(
        case.program, weights=case.weights, calibrate=stacks, precision_bits=PRECISION_BITS, **parameters
    )
    outputs = [as_dict(case.oracle(*row)).values() for row in rows]
    magnitudes = [max(np.max(np.abs(v)) for v in column) for column in zip(*outputs, strict=True)]
    return Deployed(model, stacks[0]), magnitudes


@pytest.mark.parametrize("insecure_ring_degree", [2048, 4096])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program.name)
def test_program(case, insecure_ring_degree):
    deployed, magnitudes = deploy(case, ring_degree=insecure_ring_degree, insecure=True)
    for seed in (11, 22):
        inputs = case.inputs(seed)
        check(deployed.run(*inputs), case.oracle(*inputs), magnitudes)


def test_program_at_128_bit_security():
    case = CASES[2]
    deployed, magnitudes = deploy(case)
    chain = deployed.model.plan.chain
    assert not chain.insecure and chain.security_bits == 128 and "128-bit security" in repr(deployed.model)
    inputs = case.inputs(33)
    check(deployed.run(*inputs), case.oracle(*inputs), magnitudes)


def test_polynomial_regression_predicts_as_its_fit():
    deployed, magnitudes = deploy(CASES[1], **INSECURE_SMALL)
    predicted = deployed.run(SPEEDS / 25).reveal()
    np.testing.assert_allclose(predicted, np.polyval(FIT[::-1], SPEEDS / 25), atol=2.0**-PRECISION_BITS * magnitudes[0])
    residual = np.sqrt(np.mean((predicted - DISTANCES) ** 2))
    assert 14.5 < residual < 15.0  # of the fit: 14.7 feet


@pytest.mark.parametrize("insecure_ring_degree", [2048, 4096])
def test_batch_mlp_with_relu(insecure_ring_degree):
    @lw.program
    def mlp(x: lw.Secret[4, 8], w1, w2):
        return lw.relu(x @ w1, degree=15) @ w2

    data = uniform((200, 8), 9)
    with pytest.warns(lw.ApproximationWarning, match="relu of degree 15"):
        model = lw.compile(
            mlp,
            weights=(HIDDEN, OUT),
            calibrate=data,
            precision_bits=PRECISION_BITS,
            ring_degree=insecure_ring_degree,
            insecure=True,
        )
    deployed = Deployed(model, data)
    x = data[10:14]
    got = deployed.run(x).reveal()
    # The approximation is off by at most max_error per hidden unit; the rest of the error is noise.
    (approximation,) = model.plan.approximations
    allowed = approximation.max_error * np.abs(OUT).sum(axis=0) + 2.0**-PRECISION_BITS * 8
    assert approximation.function == "relu" and approximation.max_error < 0.2
    assert np.all(np.abs(got - np.maximum(x @ HIDDEN, 0) @ OUT) <= allowed)
    np.testing.assert_allclose(got, model.plaintext(x)[0], atol=2.0**-PRECISION_BITS * 8)


# Loops whose number of iterations is known only at run time


@lw.program
def accumulate(x: lw.Secret[16], n: lw.Index):
    """Spends no level."""
    return lw.for_loop(n, lambda i, total: total + x, x)


@lw.program
def accumulate_from_zero(x: lw.Secret[16], n: lw.Index):
    """Starts from public zeros: without iterations nothing secret is in the result."""
    total, count = lw.for_loop(n, lambda i, total, count: (total + x, count + 1.0), (np.zeros(16), 0.0))
    return {"total": total + 0 * x, "count": count + 0 * x[0]}


@lw.program
def power(x: lw.Secret[16], n: lw.Index):
    """Spends a level in every iteration."""
    return lw.for_loop(n, lambda i, y: y * x, x, at_most=4)


@lw.program
def newton(a: lw.Secret[8], n: lw.Index):
    """1 / a, by n steps from 1."""
    return lw.for_loop(n, lambda i, y: y * (2.0 - a * y), np.ones(8), at_most=3)


def newton_oracle(a, n):
    y = np.ones(8)
    for _ in range(n):
        y = y * (2 - a * y)
    return y


LOOPS = [
    (accumulate, lambda x, n: x * (n + 1), (16,), 7, (1.0, 0.0)),
    (power, lambda x, n: x ** (n + 1), (16,), 4, (1.0, 0.0)),
    (newton, newton_oracle, (8,), 3, (0.3, 1.0)),
]


@pytest.mark.parametrize("insecure_ring_degree", [2048, 4096])
@pytest.mark.parametrize(("program", "oracle", "shape", "limit", "scale"), LOOPS, ids=[row[0].name for row in LOOPS])
def test_loop_count_is_given_at_run_time(program, oracle, shape, limit, scale, insecure_ring_degree):
    data = scale[0] * uniform((24, *shape), 4) + scale[1]
    model = lw.compile(
        program,
        calibrate={program.inputs[0].name: data, "n": limit},
        precision_bits=PRECISION_BITS,
        ring_degree=insecure_ring_degree,
        insecure=True,
    )
    deployed = Deployed(model, data)
    largest = max(np.max(np.abs(oracle(row, limit))) for row in data)
    for n in (0, 1, limit - 1, limit):
        got = deployed.run(data[n], n)
        assert np.max(np.abs(got.reveal() - oracle(data[n], n))) <= got.error_bound
        assert got.usual_error <= 2.0**-PRECISION_BITS * largest


def test_loop_from_public_zeros():
    data = uniform((24, 16), 4)
    model = lw.compile(accumulate_from_zero, calibrate={"x": data, "n": 5}, **INSECURE_SMALL)
    deployed = Deployed(model, data)
    for n in (0, 2, 5):
        got = deployed.run(data[n], n)
        np.testing.assert_allclose(got["total"].reveal(), n * data[n], atol=5 * 2.0**-12)
        np.testing.assert_allclose(got["count"].reveal(), n, atol=5 * 2.0**-12)


def test_a_program_of_the_same_plan_serves_many_inputs():
    deployed, magnitudes = deploy(CASES[0], **INSECURE_SMALL)
    for seed in range(40, 50):
        inputs = CASES[0].inputs(seed)
        check(deployed.run(*inputs), CASES[0].oracle(*inputs), magnitudes)

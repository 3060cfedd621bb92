"""Affine steps beside linear maps and functions spend no level: those of scalers, normalisations, means and roots."""

from __future__ import annotations

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.frontend.calibration.calibration_data import samples_of
from latticework.ir import interpret

rng = np.random.default_rng(3)
KERNELS, DENSE = rng.normal(size=(2, 1, 3, 3)), rng.normal(size=(72, 5))
ACROSS = rng.normal(size=(2, 2, 3, 3))
SCALES, SHIFTS = rng.uniform(0.5, 2.0, size=(1, 2, 1, 1)), rng.normal(size=(1, 2, 1, 1))
IN, OUT = rng.normal(size=(8, 6)) / 3, rng.normal(size=(6, 3))
MEANS, SPREADS = rng.normal(size=(2, 6)), rng.uniform(0.5, 2.0, size=(2, 6))
WIDE = (-8.0, 8.0)


@lw.program
def normalised_convolution(x: lw.Secret[1, 1, 8, 8]):
    """Convolution, scale and shift a channel, square, matrix: 3."""
    return lw.square(lw.conv2d(x, KERNELS) * SCALES + SHIFTS).reshape(1, 72) @ DENSE


@lw.program
def normalised_around_a_function(x: lw.Secret[8]):
    """Matrix, batch norm, degree 7, batch norm, matrix: 1 + 3 + 1."""
    y = lw.tanh((x @ IN - MEANS[0]) / SPREADS[0], degree=7, range=WIDE)
    return ((y - MEANS[1]) / SPREADS[1]) @ OUT


@lw.program
def scaled_logistic(x: lw.Secret[6]):
    """Scaler, weights, degree 7: 1 + 3."""
    return lw.sigmoid(((x - MEANS[0]) / SPREADS[0]) @ IN[0] + 0.3, degree=7, range=WIDE)


@lw.program
def pooled_convolution(x: lw.Secret[1, 1, 8, 8]):
    """Mean and convolution are one map."""
    return lw.conv2d(lw.avg_pool2d(x, 2), KERNELS)


@lw.program
def scores(x: lw.Secret[4, 4]):
    """Two projections and a product of two: 2."""
    return (x @ DENSE[:4, :4]) / np.sqrt(3.0) @ (x @ DENSE[4:8, :4]).T


@lw.program
def scaled_before_padding(x: lw.Secret[1, 2, 6, 6]):
    """A factor of each channel goes into the convolution."""
    return lw.conv2d(x * SCALES, ACROSS, padding=1)


@lw.program
def shifted_before_padding(x: lw.Secret[1, 2, 6, 6]):
    """So does an addend, which at the border is missing from some sums."""
    return lw.conv2d(lw.square(x) * SCALES + SHIFTS, ACROSS, padding=1)


@lw.program
def half_before_relu(x: lw.Secret[8]):
    """A factor and an addend before a function, after a matrix: 1 + 3."""
    return lw.relu((x @ IN) * 0.5 - 0.25, degree=7, range=WIDE)


@lw.program
def between_functions(x: lw.Secret[8]):
    """A factor and an addend between two functions, of a shape that leaves slots empty: 1 + 3 + 3."""
    return lw.tanh(lw.tanh(x @ IN, degree=7, range=WIDE) * 0.7 + 0.1, degree=7, range=WIDE)


@lw.program
def sign_of_few(x: lw.Secret[3]):
    """The stages of a composition, of a shape that leaves slots empty."""
    return lw.sign(x, gap=0.1, range=(-1, 1))


CASES = [
    (normalised_convolution, (1, 1, 8, 8), 3), (normalised_around_a_function, (8,), 5), (scaled_logistic, (6,), 4),
    (pooled_convolution, (1, 1, 8, 8), 1), (scores, (4, 4), 2), (scaled_before_padding, (1, 2, 6, 6), 1),
    (shifted_before_padding, (1, 2, 6, 6), 2), (half_before_relu, (8,), 4), (between_functions, (8,), 7),
    (sign_of_few, (3,), 8),
]  # fmt: skip


@pytest.mark.parametrize("program, shape, levels", CASES, ids=lambda case: getattr(case, "name", None))
def test_levels_and_meaning(program, shape, levels):
    data = rng.choice([-1.0, 1.0], size=(3, *shape)) * rng.uniform(0.2, 1.0, size=(3, *shape))
    module = to_tensors(program, (), None)
    traced = to_polynomials(module, samples_of(program, module, {"x": data}), CompileOptions.of(precision_bits=8))
    vectors = ArrayVectors(traced.module, CompileOptions()).choose()
    assert vectors.depth == levels
    (pack,), (out,) = vectors.inputs, vectors.outputs
    for x in data:
        (exact,) = interpret(traced.module, [x])
        (found,) = interpret(vectors.flat, [pack.pack(x)])
        np.testing.assert_allclose(out.unpack(found), exact, atol=1e-9)

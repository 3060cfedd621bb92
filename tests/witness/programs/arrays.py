"""Programs on arrays in CKKS, without loops."""

import numpy as np
from cases import SMALL, case, one, uniform

import latticework as lw


@lw.program
def matrix_vector(x: lw.Secret[24], w, b):
    return w @ x + b


@case
def linear_layer():
    model = lw.compile(
        matrix_vector, weights=(uniform((16, 24), 1), uniform(16, 2)), calibrate=uniform((20, 24)), **SMALL
    )
    return one(model, uniform(24, 3))


@lw.program
def two_layers(x: lw.Secret[4, 8], w1, w2):
    return lw.relu(x @ w1) @ w2


@case
def relu_network_on_any_number_of_rows():
    model = lw.compile(
        two_layers,
        weights=(uniform((8, 6), 1), uniform((6, 3), 2)),
        calibrate=uniform((40, 8)),
        precision_bits=5,
        **SMALL,
    )
    return one(model, uniform((4, 8), 3)).and_run(uniform((6, 8), 4))


@lw.program
def convolved(x: lw.Secret[2, 6, 6], kernels, bias, dense):
    h = np.square(lw.conv2d(x, kernels, bias, stride=2))
    return np.reshape(h, -1) @ dense


@case
def convolutional_network():
    weights = uniform((3, 2, 3, 3), 1), uniform(3, 2), uniform((12, 5), 3)
    model = lw.compile(convolved, weights=weights, calibrate=uniform((12, 2, 6, 6)), **SMALL)
    return one(model, uniform((2, 6, 6), 4))


@lw.program
def chances(x: lw.Secret[4, 8], w):
    return lw.softmax(x @ w, axis=1)


@case
def softmax_of_logits():
    model = lw.compile(chances, weights=(uniform((8, 3), 1),), calibrate=uniform((24, 8)), precision_bits=8, **SMALL)
    return one(model, uniform((4, 8), 2))


@lw.program
def quotients(x: lw.Secret[16], y: lw.Secret[16]):
    return np.log(x) + x / y, np.sqrt(y)


@case
def logarithm_quotient_and_root():
    data = uniform((20, 16), 1) * 0.5 + 1.5, uniform((20, 16), 2) * 0.5 + 1.5
    model = lw.compile(quotients, calibrate=data, precision_bits=8, **SMALL)
    return one(model, data[0][0], data[1][0])


@lw.program
def attention(q: lw.Secret[3, 4], k: lw.Secret[3, 4]):
    return lw.polynomial(np.einsum("md,nd->mn", q, k), [0.5, 0.25, 0.1])


@case
def einsum_of_secrets():
    data = tuple(uniform((8, *shape), i) for i, shape in enumerate([(3, 4), (3, 4)]))
    return one(lw.compile(attention, calibrate=data, **SMALL), *(part[0] for part in data))


@lw.program
def wide_products(a: lw.Secret[48, 32], b: lw.Secret[48, 32]):
    return (a * b).sum(axis=0), a * a - b


@case
def arrays_of_many_vectors():
    data = uniform((3, 48, 32), 1), uniform((3, 48, 32), 2)
    return one(lw.compile(wide_products, calibrate=data, **SMALL), data[0][0], data[1][0])


@lw.program
def wide_layers(x: lw.Secret[2, 24, 24], kernels, bias):
    return lw.avg_pool2d(np.square(lw.conv2d(x, kernels, bias, padding="same")), 2)


@case
def block_maps_between_many_vectors():
    weights = uniform((3, 2, 3, 3), 1), uniform(3, 2)
    model = lw.compile(wide_layers, weights=weights, calibrate=uniform((3, 2, 24, 24)), **SMALL)
    return one(model, uniform((2, 24, 24), 4))


@lw.program
def rearranged(x: lw.Secret[4, 3], y: lw.Secret[3]):
    joined = np.concatenate([x, y[None], np.ones((1, 3))])
    return joined[[5, 0, 3]], np.roll(joined, 2, axis=0), np.cumsum(joined, axis=1), np.prod(joined[:4], axis=0)


@case
def moved_and_joined():
    data = uniform((8, 4, 3), 1), uniform((8, 3), 2)
    return one(lw.compile(rearranged, calibrate=data, **SMALL), data[0][0], data[1][0])


@lw.program
def public_kinds(x: lw.Secret[16], w):
    mask = np.arange(16) % 3 == 0
    return {
        "scaled": 3 * x - w * x + 0.25,
        "chosen": np.where(mask, -x, w - x),
        "count": np.sum(x) / 16 - 1.0,
        "public": x * 0 + w,
    }


@case
def constants_of_several_kinds():
    model = lw.compile(public_kinds, weights=(uniform(16, 1),), calibrate=uniform((10, 16)), **SMALL)
    return one(model, uniform(16, 2))


@lw.program
def fourier(x: lw.Secret[64]):
    """Stages of butterflies, which become fewer linear maps."""
    values = [x[i::2] for i in range(2)]
    total, difference = values[0] + values[1], values[0] - values[1]
    turned = np.concatenate([total * np.cos(np.arange(32)), difference * np.sin(np.arange(32))])
    return np.cumsum(turned) + np.roll(turned, 5)


@case
def merged_linear_maps():
    return one(lw.compile(fourier, calibrate=uniform((8, 64)), **SMALL), uniform(64, 1))


@lw.program
def moments(x: lw.Secret[32]):
    mean = np.mean(x)
    return mean, np.mean(np.square(x - mean))


@case
def secure_parameters():
    return one(lw.compile(moments, calibrate=uniform((10, 32))), uniform(32, 1))


@lw.program
def fitted(x: lw.Secret[8]):
    given = lw.polynomial(x, [0.5, 0.6, 0, -0.1], basis="chebyshev", range=(-4, 4))
    return given + lw.sigmoid(x, degree=7), np.tanh(x)


@case
def functions_with_and_without_a_degree():
    return one(lw.compile(fitted, calibrate=3 * uniform((40, 8)), precision_bits=8, **SMALL), uniform(8, 1))


@lw.program
def outer_sums(u: lw.Secret[64, 1], v: lw.Secret[1, 64]):
    return (u * v).sum(axis=0)


@case
def copies_for_a_fast_network():
    data = uniform((4, 64, 1), 1), uniform((4, 1, 64), 2)
    model = lw.compile(outer_sums, calibrate=data, network=10e9, precision_bits=8, ring_degree=1024, insecure=True)
    return one(model, data[0][0], data[1][0])


@lw.program
def score(x: lw.Secret[30, 12], weights):
    return lw.sigmoid(x @ weights)


@case
def scores_against_labels():
    rows, weights = uniform((60, 12), 1), uniform((12, 1), 2)
    labels = (rows @ weights)[:, 0] > 0
    model = lw.compile(score, weights=(weights,), calibrate=rows, labels=labels.astype(int), precision_bits=8, **SMALL)
    return one(model, rows[:30])


@lw.program
def filtered(x: lw.Secret[6, 1024], kernels):
    return lw.conv1d(x, kernels, padding="same")


@case
def many_vectors_to_one():
    model = lw.compile(filtered, weights=(uniform((1, 6, 3), 1),), calibrate=uniform((3, 6, 1024)), **SMALL)
    return one(model, uniform((6, 1024), 2))


@lw.program
def moments_over_vectors(x: lw.Secret[6, 1024], y: lw.Secret[6, 1]):
    return np.square(x + y).sum(axis=0), (x * y).sum(axis=0), x.sum(axis=0)


@case
def sums_over_many_vectors():
    data = uniform((3, 6, 1024), 1), uniform((3, 6, 1), 2)
    return one(lw.compile(moments_over_vectors, calibrate=data, **SMALL), data[0][0], data[1][0])

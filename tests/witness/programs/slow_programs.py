"""Larger programs, circuits and bootstraps, most of them with secure parameters."""

from functools import reduce
from operator import and_

import numpy as np
from cases import SMALL, Case, Planned, case, one, uniform

import latticework as lw
from latticework import ckks


def scaled(shape, seed):
    """Weights of a layer that keeps numbers about as large as they are."""
    inputs = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
    return uniform(shape, seed) / np.sqrt(inputs)


@lw.program
def lenet(image: lw.Secret[1, 28, 28], k1, b1, k2, b2, d3, b3, d4, b4, d5, b5):
    maps = lw.avg_pool2d(lw.square(lw.conv2d(image, k1, b1)), 2)
    maps = lw.avg_pool2d(lw.square(lw.conv2d(maps, k2, b2)), 2)
    hidden = lw.square(np.reshape(maps, (256,)) @ d3 + b3)
    hidden = lw.square(hidden @ d4 + b4)
    return hidden @ d5 + b5


@case
def lenet_on_one_image():
    shapes = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (256, 120), (120,), (120, 84), (84,), (84, 10), (10,)]
    weights = [scaled(shape, i) if len(shape) > 1 else np.full(shape, 0.5) for i, shape in enumerate(shapes)]
    images = 0.5 * uniform((8, 1, 28, 28)) + 0.5
    return one(lw.compile(lenet, weights=weights, calibrate=images, precision_bits=8), images[0])


@lw.program
def perceptron(x: lw.Secret[16, 64], w1, b1, w2, b2):
    return lw.relu(x @ w1 + b1) @ w2 + b2


@case
def perceptron_on_rows():
    weights = scaled((64, 32), 1), uniform(32, 2) / 4, scaled((32, 10), 3), uniform(10, 4) / 4
    rows = 0.5 * uniform((60, 64), 5) + 0.5
    return one(lw.compile(perceptron, weights=weights, calibrate=rows, precision_bits=6), rows[:20])


@lw.program
def chances(x: lw.Secret[32, 16], w):
    return lw.softmax(x @ w, axis=1)


@case
def softmax_with_secure_parameters():
    return one(lw.compile(chances, weights=(uniform((16, 5), 1),), calibrate=uniform((64, 16))), uniform((32, 16), 2))


@lw.program
def attention(q: lw.Secret[2, 3, 4], k: lw.Secret[2, 3, 4], v: lw.Secret[2, 3, 2]):
    return lw.polynomial(np.einsum("hmd,hnd->hmn", q, k), [0.5, 0.25, 0.1]) @ v


@case
def attention_of_two_heads():
    data = tuple(uniform((8, *shape), i) for i, shape in enumerate([(2, 3, 4), (2, 3, 4), (2, 3, 2)]))
    return one(lw.compile(attention, calibrate=data, **SMALL), *(part[0] for part in data))


@lw.program
def wide_products(a: lw.Secret[48, 32], b: lw.Secret[32, 40]):
    return a @ b, (a * a).sum(axis=0), b.T @ a.T


@case
def products_of_many_vectors():
    data = uniform((3, 48, 32), 1), uniform((3, 32, 40), 2)
    return one(lw.compile(wide_products, calibrate=data, **SMALL), data[0][0], data[1][0])


@lw.program
def projected(x: lw.Secret[128, 256], w):
    return x @ w


@case
def projection_of_many_vectors():
    data = uniform((2, 128, 256), 1)
    return one(lw.compile(projected, weights=(scaled((256, 256), 2),), calibrate=data), data[0])


@lw.circuit
def filtered(state: lw.vector(2, low=-2, high=2), measured: lw.scalar(low=-2, high=2), gain: lw.vector(2)):
    position, speed = state
    ahead = position + 0.1 * speed
    surprise = measured - ahead
    return [ahead + gain[0] * surprise, speed + gain[1] * surprise]


@case
def circuit_at_most_effort():
    model = lw.compile(filtered, effort="max", seed=3, **SMALL)
    return one(model, state=[0.5, -1.0], measured=0.3, gain=[0.6, 0.2])


@lw.circuit
def auction(bids: lw.bits(8, 5, replicate=True)):
    wins = []
    for i, bid in enumerate(bids):
        wins.append(reduce(and_, [bid > x if j < i else bid >= x for j, x in enumerate(bids) if j != i]))
    price = sum(win * bid for win, bid in zip(wins, bids, strict=True))
    return {"price": price, "winner": sum(win * i for i, win in enumerate(wins))}


@case
def auction_with_secure_parameters():
    return one(lw.compile(auction, scheme="bfv"), bids=[5, 200, 6, 199, 17])


@lw.circuit
def distances(points: lw.matrix(4, 3, replicate=True), queries: lw.matrix(4, 3)):
    return [[sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) for a in points] for b in queries]


@case
def distances_of_points():
    return one(lw.compile(distances, precision_bits=10), points=uniform((4, 3), 1), queries=uniform((4, 3), 2))


def bootstrapped(name, *, is_run, **options):
    bootstrapper = ckks.Bootstrapper(name, **options)
    parameters, slots, floor = bootstrapper.parameters, bootstrapper.slots, bootstrapper.floor

    def run(deploy):
        on = deploy.on(parameters)
        maker = ckks.KeyGenerator(on)
        evaluator = ckks.Evaluator(on, maker.evaluation_keys(required=bootstrapper.required_keys(on, level=floor)))
        x = ckks.Encryptor(on, maker.secret_key()).encrypt(0.7 * uniform(slots), level=floor)
        return [evaluator.run(bootstrapper, x)]

    return Case({"bootstrap": Planned(bootstrapper, parameters, slots, floor)}, run if is_run else None)


@case
def bootstrap_of_a_larger_ring():
    return bootstrapped("T12", is_run=True)


@case
def bootstrap_with_secure_parameters():
    return bootstrapped("A14", is_run=False)


@case
def bootstrap_with_more_levels():
    return bootstrapped("A17", is_run=False, real=True)

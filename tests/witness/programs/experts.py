"""Planned operations of `latticework.ckks`, and both expert modules by hand."""

import numpy as np
from cases import Case, Planned, case, uniform

from latticework import bfv, ckks

REAL = ckks.Parameters(2**10, [46, 40, 40, 40, 40, 40], scale_bits=40, insecure=True)
SLOTS = 64


def applied(operation, parameters=REAL, *, slots=SLOTS, level=None, peak=1.0, is_real=False):
    """An operation on one ciphertext."""

    def run(deploy):
        on = deploy.on(parameters)
        maker = ckks.KeyGenerator(on)
        keys = maker.evaluation_keys(required=operation.required_keys(on, level=level, slots=slots))
        evaluator = ckks.Evaluator(on, keys)
        x = peak * (uniform(slots, 1) + (0 if is_real else 1j * uniform(slots, 2)))
        return [evaluator.run(operation, ckks.Encryptor(on, maker.secret_key()).encrypt(x, level=level))]

    return Case({"operation": Planned(operation, parameters, slots, level)}, run)


@case
def linear_transform():
    return applied(ckks.LinearTransform(uniform((SLOTS, SLOTS), 3) / SLOTS))


@case
def linear_transform_with_conjugates():
    return applied(ckks.LinearTransform({0: 0.5, 3: uniform(SLOTS, 1)}, conjugate_diagonals={1: 1.0}, slots=SLOTS))


@case
def chebyshev_polynomial():
    return applied(ckks.chebyshev(np.exp, (-1, 1), degree=15), peak=0.5, is_real=True)


@case
def polynomial_of_powers():
    return applied(ckks.Polynomial([0.25, -0.5, 0, 0.75, 1.0]), peak=0.5, level=4)


def bootstrapped(**options):
    bootstrapper = ckks.Bootstrapper("T11", **options)
    return applied(
        bootstrapper, bootstrapper.parameters, slots=bootstrapper.slots, level=bootstrapper.floor,
        is_real=options.get("real", False), peak=0.7,
    )  # fmt: skip


@case
def bootstrap():
    return bootstrapped()


@case
def bootstrap_of_few_real_slots():
    return bootstrapped(slots=16, real=True)


@case
def bootstrap_of_two_iterations():
    return bootstrapped(iterations=2)


@case
def bootstrap_to_a_low_level():
    return bootstrapped(target_level=ckks.Bootstrapper("T11").floor + 2)


@case
def real_numbers_by_hand():
    """Nothing is planned here: operators, and the inner sum, on ciphertexts."""

    def run(deploy):
        on = deploy.on(REAL)
        maker = ckks.KeyGenerator(on)
        keys = maker.evaluation_keys(steps=None, conjugate=True)
        evaluator = ckks.Evaluator(on, keys)
        owner = ckks.Encryptor(on, maker.secret_key(), evaluator=evaluator)
        anybody = ckks.Encryptor(on, maker.public_key(), evaluator=evaluator)
        x, y = owner.encrypt(uniform(on.slots, 1)), anybody.encrypt(uniform(on.slots, 2))
        return [
            (x * y + x * x).rotate(5).conjugate(),
            0.5 * x**3 - 2 * x * y + uniform(on.slots, 3) * x + 1,
            evaluator.inner_sum(y),
        ]

    return Case({}, run)


@case
def whole_numbers_by_hand():
    def run(deploy):
        on = deploy.on(bfv.Parameters(2**10, [46] * 4, p_bits=[48] * 2, plain_bits=17, insecure=True))
        maker = bfv.KeyGenerator(on)
        evaluator = bfv.Evaluator(on, maker.evaluation_keys(steps=[1, 4], swap_rows=True))
        owner = bfv.Encryptor(on, maker.secret_key(), evaluator=evaluator)
        anybody = bfv.Encryptor(on, maker.public_key(), evaluator=evaluator)
        x, y = owner.encrypt(np.arange(on.slots) % 50 - 20), anybody.encrypt(np.arange(on.slots) % 7)
        return [(x * y - 3 * x).rotate(1), x * x + np.arange(on.slots) % 5, evaluator.swap_rows(y - x)]

    return Case({}, run)

"""Predicted noise against the noise that there is."""

from __future__ import annotations

import numpy as np
import pytest
from bfv_cases import Case, make_case, small_parameters

from latticework import bfv
from latticework.plan.parameters.bfv_chain import ChainShape


@pytest.fixture(params=[(17, 5, 1), (45, 6, 3)], ids=["t17", "t45"], scope="module")
def case(request) -> Case:
    return make_case(small_parameters(*request.param))


@pytest.mark.parametrize("public", [False, True], ids=["secret", "public"])
def test_average_within_two_bits_and_worst_case_below(case, public):
    rng = np.random.default_rng(3)
    model, read = bfv.NoiseModel(case.parameters), case.decryptor.noise_budget
    key = case.keygen.public_key() if public else case.keygen.secret_key()
    encryptor = bfv.Encryptor(case.parameters, key, evaluator=case.evaluator)
    fresh, e = model.fresh(public_key=public), case.evaluator
    new = lambda: encryptor.encrypt(case.random(rng))  # noqa: E731
    a, b = new(), new()
    pairs = [
        (a, fresh),
        (a + b, model.add(fresh, fresh)),
        (a * 1001, model.mul_int(fresh, 1001)),
        (a + case.random(rng), model.add_plain(fresh)),
        (a * case.random(rng), model.mul_plain(fresh)),
        (a.rotate(1), model.rotate(fresh)),
        (e.mod_switch(a, 2), model.mod_switch(fresh, 2)),
        (e.mul(a, b), model.mul(fresh, fresh, relinearized=False)),
        (a * b, model.mul(fresh, fresh)),
        (a * a, model.square(fresh)),
    ]
    chain, square, low = (pairs[-2], pairs[-1], (e.mod_switch(a, 2), model.mod_switch(fresh, 2)))
    for _ in range(3):
        chain = (chain[0] * new(), model.mul(chain[1], fresh))
        square = (square[0] * square[0], model.square(square[1]))
        pairs += [chain, square]
    pairs.append((low[0] * e.mod_switch(b, 2), model.mul(low[1], low[1])))
    for found, noise in pairs:
        predicted = model.budget(noise)
        if predicted < 2:
            continue
        assert abs(read(found) - predicted) < 2
        assert read(found) >= model.worst_budget(noise)
        assert found.level == noise.level


def test_reliable_circuits_are_those_with_budget():
    model = bfv.NoiseModel(small_parameters(30))
    x = model.fresh()
    while model.is_reliable(x):
        last, x = x, model.mul(x, x)
    assert model.budget(last) > 5
    assert model.budget(x) < 6
    assert model.supports(1) and not model.supports(9)


def test_budget_of_a_transparent_value_is_that_of_a_rounding():
    case = make_case(small_parameters(17, 2, 1))
    x = case.encryptor.encrypt(5)
    nothing = x - x
    # c(s) = 0 exactly
    assert case.decryptor.noise_budget(nothing) == pytest.approx(ChainShape(case.parameters.chain).log2_q(1) - 1)
    assert (case.decryptor.decrypt(nothing) == 0).all()


def test_budget_does_not_depend_on_the_message():
    case = make_case(small_parameters(17, 3, 1))
    x = case.encryptor.encrypt(np.arange(1024))
    first = case.decryptor.noise_budget(x)
    assert abs(case.decryptor.noise_budget(x + 4711) - first) < 0.5

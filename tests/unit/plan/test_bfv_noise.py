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
    other = lambda: model.fresh(public_key=public)  # noqa: E731
    a, b = new(), new()
    pairs = [
        (a, fresh),
        (a + b, model.add(fresh, other())),
        (a * 1001, model.mul_int(fresh, 1001)),
        (a + case.random(rng), model.add_plain(fresh)),
        (a * case.random(rng), model.mul_plain(fresh)),
        (a.rotate(1), model.rotate(fresh)),
        (e.mod_switch(a, 2), model.mod_switch(fresh, 2)),
        (e.mul(a, b), model.mul(fresh, other(), relinearized=False)),
        (a * b, model.mul(fresh, other())),
        (a * a, model.square(fresh)),
    ]
    chain, square, low = (pairs[-2], pairs[-1], (e.mod_switch(a, 2), model.mod_switch(fresh, 2)))
    for _ in range(3):
        chain = (chain[0] * new(), model.mul(chain[1], other()))
        square = (square[0] * square[0], model.square(square[1]))
        pairs += [chain, square]
    pairs.append((low[0] * e.mod_switch(b, 2), model.mul(low[1], model.mod_switch(other(), 2))))
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


# name -> one more operation on a value, by an evaluator or by the noise model
RELATED = {
    "doubled": (lambda e, x: e.add(x, x), lambda m, n: m.add(n, n)),
    "with its copy": (lambda e, x: e.add(x, e.add(x, 1)), lambda m, n: m.add(n, m.add_plain(n))),
    "less its multiple": (lambda e, x: e.sub(e.mul_int(x, 3), x), lambda m, n: m.add(m.mul_int(n, 3), n)),
    "relinearised": (lambda e, x: e.add(x, e.neg(x) * -1), lambda m, n: m.add(n, m.rotate(n))),
}


@pytest.mark.parametrize("name", RELATED)
def test_what_is_reliable_decrypts_however_operands_are_related(name):
    """Correlated sums: each doubles the noise, and not its variance."""
    apply, predict = RELATED[name]
    case = make_case(small_parameters(20, 4, 1))
    model, value = bfv.NoiseModel(case.parameters), 1
    x = case.encryptor.encrypt(1) * case.encryptor.encrypt(1)
    noise = model.mul(model.fresh(), model.fresh())
    steps = 0
    while model.is_reliable(predict(model, noise)):
        before = case.decryptor.decrypt(x, np.uint64)[0, 0].astype(int)
        x, noise, steps = apply(case.evaluator, x), predict(model, noise), steps + 1
        value = {"doubled": 2, "with its copy": 2, "less its multiple": 2, "relinearised": 2}[name] * before
        assert case.decryptor.noise_budget(x) >= model.budget(noise) - 1
    assert steps > 10
    (expected,) = {(value + (name == "with its copy")) % case.parameters.plain_modulus}
    assert (case.decryptor.decrypt(x, np.uint64) == expected).all()


def test_lineages_tell_encryptions_and_rotations_apart():
    model = bfv.NoiseModel(small_parameters(20, 4, 1))
    x, y = model.fresh(), model.fresh()
    growth = lambda a, b: (model.variance(model.add(a, b)) - model.variance(a)) / 2  # noqa: E731
    assert growth(x, x) == pytest.approx(1) and growth(x, y) == pytest.approx(0.5)
    p = model.mul(x, y)
    assert growth(p, model.mul(x, y)) == pytest.approx(1)  # the same product again
    assert growth(p, model.rotate(p, 3)) == pytest.approx(0.5, abs=0.1)
    assert growth(p, model.rotate(model.rotate(p, 3), -3)) == pytest.approx(1, abs=0.1)
    assert growth(p, model.rotate(p, swapped=True)) == pytest.approx(0.5, abs=0.1)
    assert model.variance(model.mul(p, p)) == pytest.approx(model.variance(model.square(p)))
    many = p
    for step in range(1, 600):
        many = model.add(many, model.rotate(p, step))
    assert many.lineage is None and growth(many, many) == pytest.approx(1)

"""CKKS products of ciphertexts that were not relinearised: degrees add up to four, and owners decrypt them."""

import numpy as np
import pytest

from latticework import ckks
from latticework.errors import IrError, ShapeError

PARAMETERS = ckks.Parameters(2**11, [40, 40, 40, 40, 40], scale_bits=30, num_special=0, insecure=True)
X, Y = np.random.default_rng(0).uniform(-1, 1, (2, PARAMETERS.slots))


@pytest.fixture(scope="module", params=["cpu", "ref"])
def made(request):
    parameters = PARAMETERS.on(backend=request.param)
    keygen = ckks.KeyGenerator(parameters)
    secret = keygen.secret_key()
    evaluator = ckks.Evaluator(parameters, align=False)
    encryptor = ckks.Encryptor(parameters, secret, evaluator=evaluator)
    return evaluator, encryptor.encrypt(X), encryptor.encrypt(Y), ckks.Decryptor(parameters, secret), parameters


def test_degrees_and_scales_add_up(made):
    evaluator, x, y, decryptor, _ = made
    square, product = evaluator.square(x), evaluator.mul(x, y)
    cases = {
        "square": (square, 2, X**2),
        "cube": (evaluator.mul(square, x), 3, X**3),
        "fourth": (evaluator.square(square), 4, X**4),
        "both": (evaluator.mul(square, product), 4, X**3 * Y),
        "sum": (evaluator.add(evaluator.mul(square, product), evaluator.square(square)), 4, X**3 * Y + X**4),
        "difference": (evaluator.sub(evaluator.mul(product, x), evaluator.mul(square, y)), 3, 0 * X),
    }
    for value, degree, wanted in cases.values():
        assert value.degree == degree and value.scale == pytest.approx(x.scale ** max(2, degree))
        np.testing.assert_allclose(np.real(decryptor.decrypt(value)), wanted, atol=2.0**-16)


def test_degree_five_is_refused(made):
    evaluator, x, _, _, _ = made
    square = evaluator.square(x)
    with pytest.raises((ShapeError, IrError), match="degrees 4 and 1 add up to more than 4"):
        evaluator.mul(evaluator.square(square), x)


def test_files_hold_every_degree(made, tmp_path):
    evaluator, x, _, decryptor, parameters = made
    fourth = evaluator.square(evaluator.square(x))
    again = ckks.Ciphertext.from_bytes(fourth.to_bytes(), parameters)
    assert again.degree == 4 and again.to_bytes() == fourth.to_bytes()
    np.testing.assert_allclose(np.real(decryptor.decrypt(again)), X**4, atol=2.0**-16)


def test_errors_are_as_modelled(made):
    """The error of a fourth power is four times that of its base, by its cube."""
    evaluator, x, _, decryptor, _ = made
    first = np.real(decryptor.decrypt(x)) - X
    found = np.real(decryptor.decrypt(evaluator.square(evaluator.square(x)))) - X**4
    np.testing.assert_allclose(found, 4 * X**3 * first, atol=2.0**-30)

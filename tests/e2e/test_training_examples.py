"""The examples that train: what they say in the clear is what NumPy says, and encrypted they learn the same."""

import numpy as np
import pytest
from e2e_cases import example


def chances(z):
    return 1 / (1 + np.exp(-z))


def test_mini_batches_learn_as_plain_numpy_does():
    batches = example("minibatches")
    images, labels = batches.digits().private
    w, b, losses = np.zeros(batches.PIXELS), 0.0, []
    for step in range(batches.EPOCHS * batches.BATCHES):
        rows = slice(batches.ROWS * (step % batches.BATCHES), batches.ROWS * (step % batches.BATCHES + 1))
        wrong, rate = chances(images[rows] @ w + b) - labels[rows], 6 / (1 + step / 4)
        w, b = w - rate * wrong @ images[rows] / batches.ROWS, b - rate * wrong.mean()
        losses.append(np.mean(wrong**2))
    shape = batches.BATCHES, batches.ROWS
    found = batches.train(images.reshape(*shape, -1), labels.reshape(shape), batches.RATES)
    np.testing.assert_allclose(found["w"], w, atol=1e-12)
    np.testing.assert_allclose(found["b"], b, atol=1e-12)
    np.testing.assert_allclose(found["losses"], np.reshape(losses, (batches.EPOCHS, -1)).mean(axis=1), atol=1e-12)
    assert batches.accuracy(found) > 0.95 and losses[-1] < 0.1 * losses[0]


def test_digits_to_compile_with_are_no_others():
    batches = example("minibatches")
    digits = batches.digits()
    rows = np.concatenate([images for images, _ in (digits.public, digits.private, digits.held_out)])
    assert len(np.unique(rows, axis=0)) == len(rows)
    drawn = batches.examples_like(*digits.public)
    assert {row.tobytes() for row in drawn["x"].reshape(-1, batches.PIXELS)} <= {r.tobytes() for r in digits.public[0]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*out of the interval")  # calibration has few samples, and says so
def test_mini_batches_learn_the_same_encrypted():
    batches = example("minibatches")
    model, _, results, wanted = batches.run(bootstrap_set="T12L16", insecure=True)
    assert model.plan.bootstraps
    for name, result in results.items():
        assert np.max(np.abs(result.reveal() - wanted[name])) <= result.error_bound < 0.01
    found = {name: result.reveal() for name, result in results.items()}
    assert abs(batches.accuracy(found) - batches.accuracy(wanted)) <= 0.01


def test_logistic_regression_learns_as_plain_numpy_does():
    logistic = example("logistic")
    x, y, rows, labels = logistic.tumours()
    w = np.zeros(logistic.FEATURES)
    for _ in range(5):
        w = w - logistic.RATE * (chances(x @ w) - y) @ x / len(x)
    np.testing.assert_allclose(logistic.train(x, y, np.zeros(logistic.FEATURES), 5)["w"], w, atol=1e-12)
    assert logistic.accuracy(w, rows, labels) > 0.9

"""The network of the LeNet benchmark: gradients, training on few images, and the program that evaluates it."""

import numpy as np
import pytest

from latticework.commands.benchmarks import suites
from latticework.errors import UserError

bench_suites = suites()  # puts the source tree on the path
from bench.lenet.network import PROGRAM, SHAPES  # noqa: E402
from bench.lenet.train import Digits, Effort, accuracy, gradient, initial, load, scores, train, trained  # noqa: E402

RNG = np.random.default_rng(3)


def halves(count):
    """Images of two classes: ink on the left or on the right."""
    images, labels = np.zeros((count, 28, 28), dtype=np.float32), RNG.integers(0, 2, count)
    for image, label in zip(images, labels, strict=True):
        image[6:22, slice(16, 24) if label else slice(4, 12)] = 1.0
    return Digits(images, labels)


def weights():
    return {name: w.astype(np.float64) for name, w in initial(np.random.default_rng(1), SHAPES).items()}


def test_the_program_gives_the_scores_of_the_trained_network():
    images = RNG.uniform(size=(2, 28, 28))
    by_program = [PROGRAM(image[None], *weights().values()) for image in images]
    np.testing.assert_allclose(by_program, scores(weights(), images), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SHAPES)
def test_the_gradient_is_a_difference_quotient(name):
    digits = Digits(RNG.uniform(size=(3, 28, 28)), np.array([1, 7, 7]))
    at, step = weights(), 1e-6
    place = tuple(int(RNG.integers(n)) for n in SHAPES[name])
    _, slopes = gradient(at, digits)
    losses = []
    for sign in (1, -1):
        moved = {key: w.copy() for key, w in at.items()}
        moved[name][place] += sign * step
        losses.append(gradient(moved, digits)[0])
    assert slopes[name][place] == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-4, abs=1e-8)


def test_training_tells_left_from_right():
    heard = []
    found = train(halves(16), Effort(epochs=6, batch=8), lambda epoch, loss: heard.append(loss))
    assert heard[-1] < heard[0] and accuracy(found, halves(64)) > 0.9


def test_weights_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("bench.lenet.train.HELD_OUT", 8)
    few = halves(24)
    np.savez(tmp_path / "few.npz", a=(few.images * 255).astype(np.uint8), b=few.labels)
    effort = Effort(epochs=1, batch=8)
    first = trained(tmp_path / "few.npz", effort)
    (kept,) = (tmp_path / "cache" / "latticework").glob("lenet-*.npz")
    written = kept.stat().st_mtime_ns
    again = trained(tmp_path / "few.npz", effort)
    assert all(np.array_equal(first[name], again[name]) for name in SHAPES) and kept.stat().st_mtime_ns == written


def test_files_without_digits_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros((3, 8, 8)))
    with pytest.raises(UserError, match=r"shapes \(3, 8, 8\); needed are images"):
        load(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("no arrays")
    with pytest.raises(UserError, match="cannot be read as .npz"):
        load(tmp_path / "text.npz")

"""The example of LeNet-5: it learns, and what is imported of it computes the same."""

import numpy as np
import pytest
import torch
from e2e_cases import example

import latticework as lw


@pytest.fixture
def halves(tmp_path):
    """A file of images of two classes, ink on the left or on the right."""
    labels = np.random.default_rng(0).integers(0, 2, 1192)
    images = np.zeros((len(labels), 28, 28), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[6:22, slice(16, 24) if label else slice(4, 12)] = 255
    np.savez(tmp_path / "halves.npz", images=images, labels=labels)
    return tmp_path / "halves.npz"


@pytest.mark.slow
def test_lenet_learns_and_learns_on_with_parabolas(halves):
    lenet = example("models/lenet5")
    known, held_out = lenet.load(halves)
    assert len(known[0]) == 192 and len(held_out[0]) == lenet.HELD_OUT
    network = lenet.trained(*known, epochs=3)
    assert lenet.accuracy(network, *held_out) > 0.95
    tuned = lenet.tuned(network, *known, epochs=6)
    assert [len(function.coefficients) for function in tuned.functions] == [3] * 4
    assert lenet.accuracy(tuned, *held_out) > 0.95
    program = lw.from_torch(tuned, known[0][:1])
    images = held_out[0][:8]
    with torch.no_grad():
        np.testing.assert_allclose(program(images.numpy()), tuned(images).numpy(), atol=1e-4)

"""The ResNet-20 of `examples/models`: trained the same each time, imported as PyTorch computes it."""

import numpy as np
import pytest

import latticework as lw

torch = pytest.importorskip("torch")
from examples.models import resnet20  # noqa: E402  (needs torch)

RNG = np.random.default_rng(20)


@pytest.fixture
def file(tmp_path):
    kept = tmp_path / "digits.npz"
    np.savez(
        kept, images=RNG.integers(0, 256, (12, 28, 28)).astype(np.uint8), labels=np.arange(12, dtype=np.uint8) % 10
    )
    return kept


def test_digits_are_framed_and_stand_in_three_equal_channels(file):
    pictures, labels = resnet20.digits(file)
    assert pictures.shape == (12, 3, 32, 32) and labels.tolist() == [*range(10), 0, 1]
    assert np.array_equal(pictures[:, 0], pictures[:, 2]) and not pictures[:, :, :2].any()
    with np.load(file) as given:
        assert np.allclose(255 * pictures[:, 1, 2:-2, 2:-2], given["images"])


def test_training_is_seeded_and_lowers_the_loss(file, tmp_path):
    pictures, labels = resnet20.digits(file)
    small, told = pictures[:, :, ::4, ::4], []
    first, again = (resnet20.train(small, labels, 3, 0, told.append) for _ in range(2))
    for one, other in zip(first.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    losses = [float(each.rsplit(" ", 1)[1]) for each in told]
    assert losses[:3] == losses[3:] and losses[2] < losses[0]
    torch.save(first.state_dict(), tmp_path / "weights.pt")
    kept = resnet20.loaded(tmp_path / "weights.pt")
    assert not kept.training and resnet20.accuracy(kept, small, labels) == resnet20.accuracy(first, small, labels)


def test_it_is_imported_as_pytorch_computes_it():
    torch.manual_seed(0)
    network = resnet20.ResNet20(width=2).eval()
    x = RNG.uniform(0, 1, (1, 3, 8, 8))
    program = lw.from_torch(network, np.zeros((1, 3, 8, 8)))
    exact = network(torch.from_numpy(x).float()).detach().numpy()
    assert np.allclose(program(x), exact, atol=1e-5)
    assert sum(1 for part in network.modules() if isinstance(part, torch.nn.Conv2d)) == 21

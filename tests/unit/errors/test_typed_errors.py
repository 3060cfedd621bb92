"""What cannot be computed is refused by an error of ours, with numbers: tensors of any kind, tiny data, long programs."""

import numpy as np
import pytest
import torch

import latticework as lw
from latticework.errors import DtypeError, PrecisionError, RangeError, UserError

DATA = np.random.default_rng(0).uniform(-1, 1, (20, 4))
SMALL = {"ring_degree": 1024, "insecure": True, "precision_bits": 6}


@lw.program
def doubled(x: lw.Secret[4]):
    return x * 2


@lw.program
def scaled(x: lw.Secret[4], w):
    return x * w


@lw.circuit
def circuit(a: lw.vector(4), w):
    return a * w


def tensors():
    row = torch.tensor([0.5, -0.25, 0.0, 1.0])
    paired = torch.complex(torch.zeros(4), row)
    return {
        "sparse": row.to_sparse(), "mkldnn": row.to_mkldnn(), "negated": -paired.conj().imag.neg(), "bfloat16": row.bfloat16(),
        "grad": row.clone().requires_grad_(), "quantised": torch.quantize_per_tensor(row, 0.25, 0, torch.qint8),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_tensors_of_any_kind_are_read():
    model = lw.compile(doubled, calibrate=DATA, **SMALL)
    client = model.client()
    client.keygen()
    for name, tensor in tensors().items():
        row = np.array([0.5, -0.25, 0.0, 1.0]) * (-1 if name == "negated" and tensor[0] < 0 else 1)
        for found in (doubled(tensor), model.plaintext(tensor)[0], model.simulate(tensor)[0]):
            np.testing.assert_allclose(found, 2 * row, atol=0.05)
        assert client.encrypt(tensor)
        with_weights = lw.compile(scaled, weights=(tensor,), calibrate=DATA, **SMALL)
        np.testing.assert_allclose(with_weights.plaintext(np.ones(4))[0], row, atol=0.05)
        np.testing.assert_allclose(scaled(np.ones(4), tensor), row)
        np.testing.assert_allclose(np.asarray(circuit(np.ones(4), tensor), float), row)


@pytest.mark.filterwarnings("ignore")
def test_tensors_without_numbers_are_refused():
    model = lw.compile(doubled, calibrate=DATA, **SMALL)
    client = model.client()
    client.keygen()
    nested = torch.nested.nested_tensor([torch.rand(2), torch.rand(3)])
    for tensor in (torch.empty(4, device="meta"), nested):
        told = pytest.raises(DtypeError, match=r"a Tensor of dtype torch.float32, .*holds no numbers that can be read")
        for call in (
            lambda t=tensor: doubled(t), lambda t=tensor: model.plaintext(t), lambda t=tensor: client.encrypt(t),
            lambda t=tensor: lw.compile(doubled, calibrate=t, **SMALL),
            lambda t=tensor: lw.compile(circuit, weights=(t,), **SMALL),
        ):  # fmt: skip
            with told:
                call()
        with pytest.raises(UserError):
            lw.compile(scaled, weights=(tensor,), calibrate=DATA, **SMALL)
    for tensor in (torch.complex(torch.rand(4), torch.rand(4)).conj(),):
        with pytest.raises(UserError, match="complex"):
            lw.compile(doubled, calibrate=tensor, **SMALL)


def test_labels_may_be_tensors():
    labels = torch.arange(20.0).bfloat16().requires_grad_()
    assert lw.compile(doubled, calibrate=DATA, labels=labels.reshape(20, 1).repeat(1, 4), **SMALL).scores


@pytest.mark.parametrize("most", [1e-300, 1e-310, 5e-324])
def test_data_next_to_nothing_are_refused(most):
    @lw.program
    def curved(x: lw.Secret[4]):
        return lw.sigmoid(x)

    for program in (doubled, curved):
        with pytest.raises(RangeError, match=r"the data for x are at most .*; give at least 1e-280"):
            lw.compile(program, calibrate=np.full((9, 4), most), **SMALL)


def test_products_next_to_nothing_are_refused():
    @lw.program
    def squared(x: lw.Secret[4]):
        return x * x

    with pytest.raises(PrecisionError, match=r"at most 1e-320 .*multiply inputs or weights"):
        lw.compile(squared, calibrate=DATA * 1e-160, **SMALL)


@pytest.mark.slow
def test_two_thousand_squares_are_refused():
    @lw.program
    def long(x: lw.Secret[4]):
        for _ in range(2000):
            x = x * x
        return x

    for options in ({"ring_degree": 2048, "insecure": True}, {"ring_degree": 2048}):
        with pytest.raises(UserError):
            lw.compile(long, calibrate=np.sign(DATA), **options)

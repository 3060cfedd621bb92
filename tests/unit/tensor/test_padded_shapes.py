"""Tensors whose axes are no powers of two cost no more than padded ones."""

import numpy as np
import pytest

import latticework as lw
from latticework.ir import Block, Builder, Module, interpret
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines loop.yield)
from latticework.ir.dialects.vec_dialect import VecType
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.tensor.layout.iteration_space import boxes
from latticework.tensor.layout.layout import Layout
from latticework.tensor.ops.lowering import Operand, Target
from latticework.tensor.ops.reduction import reduce_axes
from latticework.values.packing.packed_constants import Access, LinearMap, LoopNest

MODEL = CostModel.load()
RNG = np.random.default_rng(4)


def gram(x):
    return x.T @ x


def cost(function, shape):
    """Predicted seconds, rotations and products with public vectors; the results are right."""

    @lw.program
    def written(x: lw.Secret[shape]):
        return function(x)

    model = lw.compile(written, precision_bits=10, ring_degree=8192)
    x = RNG.uniform(-1, 1, shape)
    want = function(x)
    assert np.max(np.abs(model.simulate(x) - want)) < 2.0**-10 * max(1.0, float(np.max(np.abs(want))))
    found = estimate(model.plan, MODEL)
    return found.warm_seconds, found.counts.rotations, found.counts.plaintext_products


GRAMS = [(6, 3), (20, 12), (100, 12)]


@pytest.mark.slow
@pytest.mark.parametrize("shape", GRAMS)
def test_gram_matrices_of_odd_shapes_cost_no_more_than_of_padded_ones(shape):
    odd, even = cost(gram, shape), cost(gram, powers_of_two(shape))
    assert odd[0] <= 1.05 * even[0] and odd[1] <= even[1] + 2


def powers_of_two(shape):
    return tuple(1 << (n - 1).bit_length() for n in shape)


def test_boxes_number_vectors_by_padded_extents_too():
    result = Layout.parse("[R:16][0:16][1:16]")
    found = [box for box in boxes(result, 2, 100, ({0}, {1}), rolled=False) if box.rolls == ()]
    assert {box.vector_dims[0].extent for box in found} >= {100, 128, 100 // 16 + 1, 8}


@pytest.mark.parametrize("garbage", [0.0, 100.0])
def test_sums_take_a_mask_only_where_padding_may_hold_something(garbage):
    """The padding of inputs may hold anything; products with results of linear maps hold zeros there."""
    shape, slots = (6, 3), 32
    block = Block()
    builder = Builder(block)
    layout = Layout.parse("[0:8][1:4]")
    x = block.add_arg(VecType(1, slots, "real", True))
    pack = layout.pack_map(shape)
    held = (pack.element_of_slot() >= 0).astype(float)
    rank = Access(shape, ((1, 0), (0, 1)), (0, 0))
    moved = builder.build(
        "vec.linear_transform", [x], map=LinearMap.of(LoopNest(shape, pack, rank, None, None, pack, rank))
    )
    made = {"input": x, "moved": moved, "product": builder.build("vec.mul", [x, moved])}
    vectors = pack.pack(RNG.uniform(-1, 1, shape)) + garbage * (1 - held)
    for name, value in made.items():
        target = Target((6,), Layout.parse("[0:8][G:4]"), builder, {}, None)
        total = reduce_axes(target, Operand(shape, value, layout, None), (1,), keepdims=False)
        is_masked = total.owner.name == "vec.linear_transform"
        assert is_masked == (name == "input")
        module = Module(block, ["x"], ["y", "z"])
        end = builder.create("loop.yield", [value, total])
        whole, sums = interpret(module, [vectors])
        end.erase()
        want = pack.unpack(whole).sum(axis=1)
        np.testing.assert_allclose(target.pack.unpack(sums), want, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_network_of_two_layers_fits_a_ring_of_8192():
    """784-64-10 with a square between: three levels, and the published parameters."""
    first, second = RNG.normal(size=(784, 64)) / 28, RNG.normal(size=(64, 10)) / 8

    @lw.program
    def network(x: lw.Secret[784], first, second):
        return (x @ first) ** 2 @ second

    data = RNG.uniform(0, 1, (33, 784))
    model = lw.compile(network, weights=(first, second), calibrate=data[1:], precision_bits=6, ring_degree=8192)
    assert model.plan.chain.main.top == 3
    client = model.client(threads=1)
    keys = client.keygen()
    got = client.decrypt(model.server(keys.public(), threads=1)(client.encrypt(data[0]))).reveal()
    want = (data[0] @ first) ** 2 @ second
    assert np.max(np.abs(got - want)) < 2.0**-6 * model.plan.client.outputs[0].magnitude


@pytest.mark.slow
def test_a_network_with_a_convolution_fits_a_ring_of_8192():
    """LoLa's shape: convolution, square, 845-100, square, 100-10. Layouts with the fewest levels, a narrow special prime."""
    kernels, bias = RNG.normal(size=(5, 1, 5, 5)) / 5, RNG.normal(size=5) / 4
    first, second = RNG.normal(size=(845, 100)) / 29, RNG.normal(size=(100, 10)) / 10

    @lw.program
    def network(image: lw.Secret[1, 28, 28], kernels, bias, first, second):
        features = lw.square(lw.conv2d(image, kernels, bias, stride=2, padding=1))
        return lw.square(np.reshape(features, -1) @ first) @ second

    images = RNG.uniform(0, 1, (20, 1, 28, 28)) * (RNG.uniform(size=(20, 1, 28, 28)) < 0.2)
    weights = kernels, bias, first, second
    model = lw.compile(network, weights=weights, calibrate=images, precision_bits=3, ring_degree=8192)
    chain = model.plan.chain
    assert chain.log2_qp <= 214 and not chain.insecure
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    for image in images[:3]:
        got = client.decrypt(server(client.encrypt(image)))
        assert np.max(np.abs(got.reveal() - network(image, *weights))) <= got.error_bound

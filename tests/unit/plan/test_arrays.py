"""Arrays of vectors: every stage against NumPy, on random programs and on small ones whose form is known."""

import numpy as np
import pytest
from array_programs import Deployed, draw, encrypted, values
from vec_cases import SLOTS, Vectors, counted, expanded, managed, plan_of, primitives_of, small_chain

from latticework.compiler.levels import program_depth
from latticework.compiler.levels.value_bounds import ChainNoise, bound_values
from latticework.compiler.polynomial_noise import polynomial_noise
from latticework.errors import ShapeError
from latticework.ir import Builder, Module, interpret
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.plan.analysis.error_bounds import Magnitude, predict
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.simulate import simulate
from latticework.plan.cost import CostModel
from latticework.plan.files.code_file import decode_code, encode_code
from latticework.plan.parameters import bootstrap_chain

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("seed", range(24))
def test_stages_agree_with_numpy(seed):
    module, inputs, expected = draw(seed)
    chain = small_chain(program_depth(module))
    for stage in (module, managed(module, chain), expanded(module, chain)):
        for got, want in zip(interpret(stage, values(inputs)), values(expected), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_plans_agree_with_numpy(seed):
    module, inputs, expected = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    for got, want in zip(simulate(plan, values(inputs)), values(expected), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)
    stacked = simulate(plan, [np.stack([x, -x]) for x in values(inputs)])  # two runs side by side
    for got, want in zip(stacked, values(expected), strict=True):
        np.testing.assert_allclose(got[0], want, atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_encrypted_runs_agree_with_numpy(seed):
    """At insecure parameters of N = 2^11."""
    module, inputs, expected = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module), ring_degree=2048))
    for got, want in zip(encrypted(plan, inputs), expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_errors_stay_within_predicted_bounds(seed):
    module, inputs, expected = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    bounds = predict(plan, [Magnitude.of(x) for x in inputs])
    noisy = simulate(plan, values(inputs), noise=np.random.default_rng(seed))
    for bound, got, want in zip(bounds, noisy, values(expected), strict=True):
        error = np.abs(got - want)
        assert error.max() <= bound.worst + 1e-6
        assert np.max(np.abs(want)) <= bound.peak * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_reach_holds_arrays(seed):
    module, inputs, expected = draw(seed)
    if program_depth(module) > 2:
        return  # a polynomial's argument may leave its interval
    chain = small_chain(program_depth(module))
    boxes = [(np.minimum(x, 0), np.maximum(x, 0)) for x in values(inputs)]
    noise = ChainNoise(chain, 6.0, polynomial_noise(chain))
    found = bound_values(managed(module, chain), boxes, noise, elements={})
    for held, want in zip(found.outputs, values(expected), strict=True):
        assert np.all(held.low <= want + 1e-6) and np.all(want <= held.high + 1e-6)


def test_public_arrays_are_moved_and_added_up_like_secret_ones():
    v = Vectors(counts=[2])
    public = RNG.uniform(-1, 1, (4, SLOTS))
    c = v.constant(public)
    pairs = v.op("add", v.x[0], v.op("sum", c, groups=2))
    joined = v.op("concat", pairs, v.op("take", c, vectors=(3, 0)))
    module = v.done(v.op("mul", joined, v.op("take", c, vectors=(1,))), v.op("concat", v.op("mul", *v.x * 2), c))
    x = RNG.uniform(-1, 1, (2, SLOTS))
    want = np.concatenate([x + public.reshape(2, 2, SLOTS).sum(axis=1), public[[3, 0]]]) * public[1]
    plan = plan_of(module, small_chain(program_depth(module)))
    for got in (interpret(module, [x]), simulate(plan, [x]), encrypted(plan, [x])):
        np.testing.assert_allclose(got[0], want, atol=1e-4)
        np.testing.assert_allclose(got[1], np.concatenate([x * x, public]), atol=1e-4)


@pytest.mark.parametrize("trips", [0, 2, 3])
def test_loops_carry_arrays(trips):
    """One loop that stays one, and one that becomes guarded copies because it spends levels."""
    v = Vectors(2, counts=[3, 1], trips=True)
    x, y = v.x

    def turn(_index, h):
        return [v.op("add", v.op("rotate", h, steps=1), y)]

    def square(_index, h):
        return [v.op("mul", h, v.op("take", x, vectors=(2, 1, 0)))]

    (turned,) = v.loop(turn, [x], v.n, at_most=3)
    (squared,) = v.loop(square, [x], v.n, at_most=3)
    module = v.done(turned, squared)
    plan = plan_of(module, small_chain(program_depth(module)))
    xs, ys = RNG.uniform(-1, 1, (3, SLOTS)), RNG.uniform(-1, 1, SLOTS)
    want_turned, want_squared = xs, xs
    for _ in range(trips):
        want_turned, want_squared = np.roll(want_turned, -1, axis=1) + ys, want_squared * xs[::-1]
    for got in (interpret(module, [xs, ys, trips]), simulate(plan, [xs, ys, trips])):
        np.testing.assert_allclose(got[0], want_turned, atol=1e-6)
        np.testing.assert_allclose(got[1], want_squared, atol=1e-6)
    deployed = Deployed(plan)
    got = deployed.run([*deployed.encrypt([xs, ys[None]]), trips])
    np.testing.assert_allclose(got[0], want_turned, atol=1e-4)
    np.testing.assert_allclose(got[1], want_squared, atol=1e-4)


def test_products_are_settled_after_their_sum():
    v = Vectors(2, counts=[6, 6])
    found = counted(managed(v.done(v.op("sum", v.op("mul", *v.x), groups=2))))
    assert (found["ckks.mul"], found["rlwe.sum"], found["rlwe.relinearize"], found["rlwe.rescale"]) == (1, 1, 1, 1)


def test_a_sum_of_products_is_one_operation():
    v = Vectors(2, counts=[6, 6])
    module = v.done(v.op("sum", v.op("mul", *v.x), groups=2), v.op("sum", v.op("mul", v.x[0], v.x[0]), groups=3))
    found = counted(expanded(module, small_chain(1)))
    assert (found["ckks.dot"], found["ckks.mul"], found["ckks.square"], found["rlwe.sum"]) == (2, 0, 0, 0)
    v = Vectors(counts=[6])
    weights = v.constant(RNG.uniform(-1, 1, (6, SLOTS)))
    found = counted(expanded(v.done(v.op("sum", v.op("mul", v.x[0], weights), groups=1)), small_chain(1)))
    assert (found["rlwe.dot_plain"], found["rlwe.mul_plain"], found["rlwe.sum"]) == (1, 0, 0)


def test_a_product_that_is_also_read_by_itself_is_not_merged():
    v = Vectors(2, counts=[4, 4])
    product = v.op("mul", *v.x)
    found = counted(expanded(v.done(v.op("sum", product, groups=1), product), small_chain(1)))
    assert (found["ckks.dot"], found["ckks.mul"], found["rlwe.sum"]) == (0, 1, 1)


def test_costs_count_every_vector():
    """An array of four costs four times what one vector does, and a sum of them three additions more."""
    one, four = Vectors(), Vectors(counts=[4])
    plans = []
    for v in (one, four):
        (x,) = v.x
        y = v.matrix(v.op("mul", x, x), np.eye(SLOTS) + np.roll(np.eye(SLOTS), 3, axis=1))
        plans.append(plan_of(v.done(y if v is one else v.op("sum", y, groups=1)), small_chain(2)))
    model = CostModel.load()
    single, array = (estimate(plan, model) for plan in plans)
    assert array.counts.key_switches == 4 * single.counts.key_switches
    assert array.counts.ciphertext_products == 4 * single.counts.ciphertext_products
    assert array.counts.encodes == single.counts.encodes
    assert array.counts.additions == 4 * single.counts.additions + 3
    assert array.bytes.inputs_fresh == 4 * single.bytes.inputs_fresh
    assert sum(array.key_uses.values()) == 4 * sum(single.key_uses.values())
    assert 4 * single.bytes.outputs < array.memory.values <= 4 * single.memory.values
    assert sum(use.count for use in plans[1].client.manifest.uses) == sum(array.key_uses.values())


@pytest.mark.parametrize("seed", range(8))
def test_predicted_memory_is_what_arrays_take(seed):
    module, inputs, _ = draw(seed)
    deployed = Deployed(plan_of(module, small_chain(program_depth(module))), backend="ref")
    sent = deployed.encrypt(inputs)
    deployed.executor.run(sent)  # encodes all constants
    context, cached = deployed.context, deployed.executor.cached_constant_bytes
    memory = estimate(deployed.plan, CostModel.load()).memory
    assert memory.constants <= cached <= 2 * memory.constants  # they are kept rounded too, at most a row of each
    resident = context.live_bytes - memory.constants - sum(c.num_bytes for array in sent for c in array)  # keys
    context.reset_peak()
    deployed.executor.run(sent)
    assert 0.8 < (context.peak_bytes - resident) / (memory.values + memory.constants) < 1.03


def test_code_of_arrays_reads_back():
    """Counts are stored where they are not 1, so that the code of one-vector programs is what it was."""
    v = Vectors(counts=[3])
    plan = plan_of(v.done(v.op("rotate", v.x[0], steps=1)), small_chain(0))
    kinds = decode_code(encode_code(plan))[0]
    assert kinds == plan.kinds and {k.count for k in kinds if hasattr(k, "count")} == {3}


@pytest.mark.parametrize(
    ("name", "attrs", "told"),
    [
        ("take", {"vectors": (0, 3)}, "vectors (0, 3) of an array of 3"),
        ("take", {"vectors": ()}, "vectors () of an array of 3"),
        ("sum", {"groups": 2}, "3 vectors cannot be added up in 2 groups"),
    ],
)
def test_moves_that_do_not_fit_are_refused(name, attrs, told):
    v = Vectors(counts=[3])
    with pytest.raises(ShapeError, match=told.replace("(", r"\(").replace(")", r"\)")):
        v.op(name, v.x[0], **attrs)


def test_bootstraps_act_on_every_vector():
    chain, slots = bootstrap_chain("T11"), 64
    one, scales = chain.floor + 1, chain.main.scales
    module = Module(input_names=["x"], outputs=["y"])
    x = module.body.add_arg(CipherType("ckks", 2, slots, Level(0, chain.floor), scales[chain.floor]))
    builder = Builder(module.body)
    attrs = {"level": Level(0, one), "scale": scales[one], "real": True, "iterations": 1}
    builder.create("loop.yield", [builder.build("ckks.bootstrap", [x], **attrs)])
    arrays = RNG.uniform(-1, 1, (2, slots)).astype(complex)
    (found,) = interpret(primitives_of(module, chain), [arrays])
    np.testing.assert_allclose(found, arrays, atol=1e-5)

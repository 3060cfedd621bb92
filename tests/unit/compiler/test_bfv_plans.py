"""BFV plans: every op, encrypted and simulated, against Python's integers modulo t."""

import numpy as np
import pytest
from bfv_plans import centred, draw, encrypted, meaning, plan_of
from gather_cases import random_gather
from plan_assembler import Assembler, cipher, plain
from rlwe_cases import SCALE, plain_parameters, spec
from vec_cases import SLOTS, Vectors

from latticework import _core
from latticework.compiler.noisy_code import NoisyCode
from latticework.compiler.options.techniques import Techniques
from latticework.errors import DtypeError, FormatError, LevelError, RangeError, UnsupportedError
from latticework.plan.analysis.bfv_noise_domain import output_budgets
from latticework.plan.analysis.error_bounds import Magnitude, predict
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.simulate import simulate
from latticework.plan.cost import CostModel
from latticework.plan.files.code_file import encode_code
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.select_bfv import spare_bits
from latticework.runtime.client.client import Client
from latticework.values.centred_residues import mul_mod
from latticework.values.packing.packed_constants import LinearMap, slot_vectors

WEIGHTS = np.arange(SLOTS) - 7.0
MATRIX = np.random.default_rng(1).integers(-9, 10, (SLOTS, SLOTS)).astype(float)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def one(build, secrets=2, **options):
    v = Vectors(secrets, **options)
    made = build(v, *v.x)
    return v.done(*(made if isinstance(made, tuple) else (made,)))


CASES = {
    "add": lambda v, x, y: v.op("add", x, y),
    "sub": lambda v, x, y: v.op("sub", x, y),
    "neg": lambda v, x, y: v.op("neg", x),
    "mul": lambda v, x, y: v.op("mul", x, y),
    "square": lambda v, x, y: v.op("mul", x, x),
    "rotate": lambda v, x, y: v.op("rotate", x, steps=-3),
    "rotate none": lambda v, x, y: v.op("rotate", x, steps=SLOTS),
    "rotations": lambda v, x, y: v.op("add", v.op("rotate", x, steps=1), v.op("rotate", x, steps=5)),
    "add number": lambda v, x, y: v.op("add", x, v.splat(123456789)),
    "number minus": lambda v, x, y: v.op("sub", v.splat(-5), x),
    "mul number": lambda v, x, y: v.op("mul", v.splat(-1234567), x),
    "add vector": lambda v, x, y: v.op("add", x, v.constant(WEIGHTS)),
    "sub vector": lambda v, x, y: v.op("sub", x, v.constant(WEIGHTS * 2.0**30)),
    "vector minus": lambda v, x, y: v.op("sub", v.constant(WEIGHTS), x),
    "mul vector": lambda v, x, y: v.op("mul", x, v.constant(WEIGHTS)),
    "trivial": lambda v, x, y: v.op("add", v.op("trivial", v.constant(WEIGHTS)), x),
    "trivial output": lambda v, x, y: (v.op("trivial", v.splat(-4)), v.op("add", x, y)),
    "sum of products": lambda v, x, y: v.op("rotate", v.op("add", v.op("mul", x, y), v.op("mul", x, x)), steps=2),
    "product used twice": lambda v, x, y: v.op("mul", (p := v.op("mul", x, y)), v.op("add", p, x)),
    "public factor of a product": lambda v, x, y: v.op("mul", v.op("mul", x, y), v.constant(WEIGHTS)),
    "product times product": lambda v, x, y: v.op("mul", v.op("mul", x, x), v.op("mul", y, y)),
    "matrix": lambda v, x, y: v.matrix(x, MATRIX),
    "matrix of a product": lambda v, x, y: v.op("add", v.matrix(v.op("mul", x, y), MATRIX), x),
    "zero matrix": lambda v, x, y: v.op("add", v.matrix(x, 0 * MATRIX), y),
}
ARRAYS = {
    "take": lambda v, x, y: v.op("take", x, vectors=(2, 0)),
    "concat": lambda v, x, y: v.op("concat", x, y),
    "concat of degrees": lambda v, x, y: v.op("concat", v.op("mul", x, y), y),
    "sum": lambda v, x, y: v.op("sum", x, groups=1),
    "dot": lambda v, x, y: v.op("sum", v.op("mul", x, y), groups=1),
    "squares": lambda v, x, y: v.op("sum", v.op("mul", x, x), groups=3),
    "dot by vectors": lambda v, x, y: v.op("sum", v.op("mul", x, v.constant(MATRIX[:3])), groups=1),
    "add vectors": lambda v, x, y: v.op("add", x, v.constant(MATRIX[:3])),
    "one with each": lambda v, x, y: v.op("mul", x, y),
    "rotate": lambda v, x, y: v.op("rotate", v.op("mul", x, y), steps=4),
    "rotations": lambda v, x, y: v.op("sub", v.op("rotate", x, steps=4), v.op("rotate", x, steps=1)),
    "matrix": lambda v, x, y: v.matrix(x, MATRIX),
}


@pytest.mark.parametrize("bits", [20, 45], ids="t={} bits".format)
@pytest.mark.parametrize("name", CASES)
def test_every_op_is_exact(name, bits, rng):
    module = one(CASES[name])
    plan = plan_of(module, plain_bits=bits)
    inputs = draw(rng, plan)
    wanted = meaning(module, inputs, plan.chain.plain_modulus)
    for found in (encrypted(plan, inputs), simulate(plan, inputs)):
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("name", ARRAYS)
def test_every_op_on_arrays_is_exact(name, rng):
    module = one(ARRAYS[name], counts=(3, 1))
    plan = plan_of(module)
    inputs = draw(rng, plan)
    wanted = meaning(module, inputs, plan.chain.plain_modulus)
    for found in (encrypted(plan, inputs), simulate(plan, inputs)):
        np.testing.assert_array_equal(found[0], wanted[0])


def test_a_full_row_is_one_vector(rng):
    module = one(lambda v, x: v.op("mul", v.op("rotate", x, steps=1), x), 1, slots=1024)
    plan = plan_of(module)
    inputs = draw(rng, plan)
    np.testing.assert_array_equal(encrypted(plan, inputs)[0], meaning(module, inputs, plan.chain.plain_modulus)[0])


def opcodes(plan):
    return [i.op for _, _, i in plan.walk() if i.op not in ("key", "encode", "yield")]


def test_products_are_relinearized_as_late_as_that_is_cheapest():
    assert opcodes(plan_of(one(CASES["sum of products"]))) == ["mul", "square", "add", "relinearize", "rotate"]
    assert opcodes(plan_of(one(CASES["mul"]))) == ["mul_relinearize"]
    assert opcodes(plan_of(one(CASES["product used twice"]))) == ["mul_relinearize", "add", "mul_relinearize"]
    assert opcodes(plan_of(one(ARRAYS["dot"], counts=(3, 1)))) == ["dot", "relinearize"]


def test_rotations_of_one_value_share_its_decomposition():
    assert opcodes(plan_of(one(CASES["rotations"]))).count("hoist") == 1


def test_rotations_of_one_sum_share_its_division():
    def build(v, x, y):
        total = v.op("add", v.op("rotate", x, steps=1), y)
        return v.op("add", v.op("add", v.op("rotate", x, steps=5), total), v.op("rotate", y, steps=2))

    module = one(build)
    plan = plan_of(module)
    done = opcodes(plan)
    assert (done.count("key_product"), done.count("mod_down"), done.count("rotate")) == (3, 1, 0)
    inputs = draw(np.random.default_rng(5), plan)
    np.testing.assert_array_equal(encrypted(plan, inputs)[0], meaning(module, inputs, plan.chain.plain_modulus)[0])


def test_values_come_down_before_they_are_computed_with_where_noise_allows():
    def build(v, x, y):
        product = v.op("mul", x, y)
        return v.op("add", v.op("rotate", product, steps=1), v.op("rotate", product, steps=2))

    module = one(build)
    plan, high = plan_of(module), plan_of(module, techniques=Techniques(rescaling="waterline"))
    top = plan.chain.main.top
    assert plan.chain == high.chain and plan.client.outputs[0].level < top == high.client.outputs[0].level
    assert opcodes(plan)[:3] == ["mul_relinearize", "mod_down", "hoist"]  # once for both rotations
    assert spare_bits(NoisyCode(plan), plan.chain) >= min(spare_bits(NoisyCode(high), high.chain), 6.0) - 2.0
    assert estimate(plan, CostModel.load()).warm_seconds < estimate(high, CostModel.load()).warm_seconds


def test_what_others_go_on_with_stays_at_the_top():
    plan = plan_of(one(lambda v, x, y: v.op("rotate", v.op("mul", x, y), steps=1)), spare_levels=1)
    assert plan.client.outputs[0].level == plan.chain.main.top


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda v, x: v.polynomial(x, [0, 1, 2]), UnsupportedError, "vec.polynomial: BFV"),
        (lambda v, x: v.op("conjugate", x), UnsupportedError, "vec.conjugate: BFV"),
        (lambda v, x: v.op("mul", x, v.splat(0.5)), DtypeError, "a constant is 0.5; slots hold integers"),
        (lambda v, x: v.op("mul", x, v.constant(WEIGHTS / 4)), DtypeError, "scale it to an integer"),
        (lambda v, x: v.matrix(x, MATRIX + 0.25), DtypeError, "compile for CKKS"),
        (lambda v, x: v.op("add", x, v.splat(2.0**60)), RangeError, "give it reduced modulo t"),
    ],
)
def test_what_bfv_has_not_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        plan_of(one(build, 1))


def test_noise_that_fits_no_modulus_is_refused():
    def power(v, x):
        for _ in range(8):
            x = v.op("mul", x, x)
        return x

    with pytest.raises(LevelError, match="does not fit ring_degree=4096 at 128-bit security"):
        plan_of(one(power, 1), ring_degree=4096, insecure=False)


def relinearizations(build):
    return sum(op in ("relinearize", "mul_relinearize") for op in opcodes(plan_of(one(build))))


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        # one product under two masks that are turned: once, where it is made
        (
            lambda v, x, y: (
                v.op("rotate", v.op("mul", (p := v.op("mul", x, y)), v.constant(WEIGHTS)), steps=1),
                v.op("rotate", v.op("mul", p, v.constant(WEIGHTS + 1)), steps=2),
            ),
            1,
        ),
        # two sums that share a product, each with one of its own: two sums, not three products
        (
            lambda v, x, y: (
                v.op("add", (p := v.op("mul", x, y)), v.op("mul", x, x)),
                v.op("sub", p, v.op("mul", y, y)),
            ),
            2,
        ),
        # one product in three sums with inputs
        (lambda v, x, y: tuple(v.op("add", p, z) for p in [v.op("mul", x, y)] for z in (x, y, v.splat(1))), 1),
        # a product that has to be relinearised anyway takes the sum with it
        (lambda v, x, y: (v.op("mul", (p := v.op("mul", x, y)), x), v.op("add", p, y)), 2),
    ],
)
def test_relinearizations_are_as_few_as_can_be(build, wanted):
    assert relinearizations(build) == wanted


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("hoisting", [True, False])
def test_maps_of_arrays_are_exact(seed, hoisting):
    rng = np.random.default_rng(seed)
    gather, sources = random_gather(rng)
    linear_map = LinearMap.of(gather)
    v = Vectors(1, slots=linear_map.slots, counts=(linear_map.count_in,))
    module = v.done(v.op("linear_transform", v.x[0], map=linear_map))
    module.sources.update({name: np.rint(100 * array) for name, array in sources.items()})
    plan = plan_of(module, techniques=Techniques(hoisting=hoisting))
    inputs = draw(rng, plan)
    wanted = meaning(module, inputs, plan.chain.plain_modulus)
    for found in (encrypted(plan, inputs), simulate(plan, inputs)):
        np.testing.assert_array_equal(found[0], wanted[0])
    assert min(output_budgets(plan)) > 2


def test_what_is_left_out_changes_no_result(rng):
    def build(v, x, y):
        product = v.op("mul", x, y)
        turned = [v.op("rotate", product, steps=k) for k in (1, 2)]
        return v.op("add", v.op("add", *turned), v.op("mul", x, x))

    module = one(build)
    plain = plan_of(module, techniques=Techniques(lazy_relinearization=False, hoisting=False))
    best = plan_of(module)
    assert opcodes(plain).count("mul_relinearize") == 2 and "hoist" not in opcodes(plain)
    assert opcodes(best).count("hoist") == 1
    inputs = draw(rng, best)
    np.testing.assert_array_equal(encrypted(plain, inputs)[0], encrypted(best, inputs)[0])


def test_errors_of_exact_plans_are_not_predicted():
    with pytest.raises(UnsupportedError, match="results of this plan are exact"):
        predict(plan_of(one(CASES["add"])), [Magnitude(1, 1)] * 2)


def test_noise_never_changes_a_simulation(rng):
    plan = plan_of(one(CASES["sum of products"]))
    inputs = draw(rng, plan)
    exact, noisy = simulate(plan, inputs), simulate(plan, inputs, noise=np.random.default_rng(1), public_key=True)
    np.testing.assert_array_equal(exact[0], noisy[0])


@pytest.mark.parametrize("modulus", [65537, 1032193, 2**33 - 9, 2**49 - 69631])
def test_products_modulo_t_are_those_of_python(modulus, rng):
    a, b = (centred(rng.integers(0, modulus, 200), modulus) for _ in range(2))
    found = mul_mod(a.astype(np.int64), b.astype(np.int64), modulus)
    assert (found == centred(a * b, modulus)).all()


def test_backends_and_threads_give_the_same_bytes(rng):
    def build(v, x, y):
        total = v.op("add", v.op("mul", x, y), v.op("mul", x, v.constant(WEIGHTS)))
        return v.matrix(v.op("mul", v.op("rotate", total, steps=3), v.op("sub", x, v.constant(WEIGHTS))), MATRIX)

    plan = plan_of(one(build), ring_degree=1024)
    client = Client(plan.client, threads=1, allow_insecure=True)
    keys = _core.save_evaluation_keys(None, client.keygen().public().evaluation)
    given = [c for (c,) in client.encrypt(*draw(rng, plan)).tensors.values()]
    inputs = _core.save_ciphertexts(None, given, ["x", "y"], {})
    parameters = core_parameters(plan.chain)
    found = []
    for backend, threads in [("ref", 1), ("auto", 1), ("auto", 3)]:
        context = _core.Context(parameters, backend, threads)
        executor = _core.Executor(
            context, _core.Plan(parameters, encode_code(plan)), _core.load_evaluation_keys(keys, context),
            lambda number, product=None: slot_vectors(plan.constants[number], plan.sources, product),
        )  # fmt: skip
        values, _, _ = _core.load_ciphertexts(inputs, context)
        found.append(bytes(_core.save_ciphertexts(None, executor.run(values), ["z"], {})))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("types", "op", "message"),
    [
        (("cipher", "plain"), "add_plain", "takes no plaintext of this form"),
        (("cipher", "addend"), "mul_plain", "takes no plaintext of this form"),
        (("cipher",), "drop_level", "BFV has no such operation"),
        (("cipher",), "mul_monomial", "BFV has no such operation"),
        (("cipher scale",), "neg", "the scale of BFV is 1"),
    ],
)
def test_code_that_mixes_the_schemes_is_refused(types, op, message):
    parameters = core_parameters(plan_of(one(CASES["mul"])).chain)
    a = Assembler(constants=1)
    known = {"cipher": cipher(0, 16, 1.0), "cipher scale": cipher(0, 16, 2.0), "plain": plain(0, 16, 1.0)}
    known["addend"] = ["addend", *known["plain"][1:]]
    block = a.block(known[types[0]])
    operands = [block.args[0], *(block.op("encode", [], known[t], 0) for t in types[1:])]
    immediate = (1,) if op == "mul_monomial" else ()
    block.yield_(block.op(op, operands, known[types[0]], *immediate))
    with pytest.raises(FormatError, match=message):
        a.plan(parameters)


def test_ckks_plans_have_no_addends_and_no_bfv_operations():
    a = Assembler([spec("relin", 0, 2)], constants=1)
    block = a.block(cipher(2))
    key = block.op("key", [], ["key", 0], 0)
    block.yield_(block.op("mul_relinearize", [block.args[0], block.args[0], key], cipher(2, scale=SCALE**2)))
    with pytest.raises(FormatError, match="only BFV has this operation"):
        a.plan(plain_parameters())
    a = Assembler(constants=1)
    block = a.block(cipher(2))
    block.yield_(
        block.op("add_plain", [block.args[0], block.op("encode", [], ["addend", *plain(2)[1:]], 0)], cipher(2))
    )
    with pytest.raises(FormatError, match="there is no such addend"):
        a.plan(plain_parameters())

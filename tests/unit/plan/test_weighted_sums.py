"""Linear combinations of ciphertexts as executors compute them: in one pass, where nothing else reads what is between."""

import pytest

from latticework.compiler.codegen.bare_plan import plan_of_code
from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.expand.primitive_builder import Primitives
from latticework.ir import Builder, Module
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.weighted_sums import weighted_sums
from latticework.plan.cost import CostModel, Shape
from latticework.plan.parameters import bootstrap_chain

CHAIN = bootstrap_chain("T11")


def plan_with(write, inputs=3):
    """The plan of what `write` returns, given primitives and ciphertexts that are read again, at the end."""
    module = Module(input_names=[f"x{i}" for i in range(inputs)], outputs=[f"y{i}" for i in range(inputs + 1)])
    kind = CipherType("ckks", 1, CHAIN.slots, Level(0, CHAIN.main.top), CHAIN.main.scales[-1])
    x = [module.body.add_arg(kind) for _ in range(inputs)]
    p = Primitives(Builder(module.body), CHAIN)
    p.builder.create("loop.yield", [write(p, *x), *x])
    return plan_of_code("sum", emit_code(module, CHAIN, ()), {}, CHAIN)


def terms_of(plan):
    """Terms of what each instruction computes; None for what stands by itself."""
    found = weighted_sums(plan)
    return [found.get((0, i)) for i in range(len(plan.blocks[0].code) - 1)]


def multiple(p, x, factor):
    return p.mul_int(x, factor, CHAIN.main.scales[-1])


def test_a_combination_is_computed_by_its_last_step():
    plan = plan_with(
        lambda p, x, y, z: p.add(p.add(multiple(p, x, 2), multiple(p, y, 3)), p.mul_i(p.sub(multiple(p, z, 5), x)))
    )
    assert sorted(terms_of(plan)) == [0, 0, 0, 0, 0, 0, 4]
    assert terms_of(plan)[-1] == 4


def test_what_is_read_twice_or_by_others_is_computed_where_it_stands():
    def write(p, x, y, z):
        twice = multiple(p, x, 2)
        return p.add(p.add(twice, twice), z)

    assert terms_of(plan_with(write)) == [None, None, None]


def test_sums_of_what_is_there_wait_for_nobody():
    assert terms_of(plan_with(lambda p, x, y, z: p.add(p.add(x, y), z))) == [None, None]


def test_factors_that_forms_cannot_hold_are_multiplied_at_once():
    plan = plan_with(lambda p, x, y, z: p.add(multiple(p, x, (1 << 61) + 1), multiple(p, y, 1 << 61)))
    assert terms_of(plan) == [None, 0, 2]


def total_of(p, *x):
    total = multiple(p, x[0], 2)
    for value in x[1:]:
        total = p.add(total, multiple(p, value, 3))
    return total


def test_long_sums_are_computed_in_parts():
    """Of 40 terms 32 at once, the last of which stands by itself, so that the part does not become longer."""
    found = terms_of(plan_with(total_of, inputs=40))
    assert max(t or 0 for t in found) == 32 and sum(t is not None and t > 1 for t in found) == 2


def test_products_that_nobody_else_keeps_are_not_kept_for_a_sum():
    """Each would be memory that the sum needs once."""

    def write(p, x, y, z):
        products = [p.builder.build("ckks.mul", [a, b]) for a, b in ((x, y), (y, z), (z, x))]
        doubled = [p.mul_int(product, 2, product.type.scale) for product in products]
        return p.add(p.add(doubled[0], doubled[1]), doubled[2])

    assert terms_of(plan_with(write)) == [None, None, None, 0, 0, 0, 2, 2]


@pytest.mark.parametrize("terms", [2, 4, 8])
def test_a_combination_is_cheaper_than_its_steps(terms):
    model = CostModel.load()
    shape = Shape(CHAIN.ring_degree, sum(map(len, CHAIN.main.groups[: CHAIN.main.top + 1])))
    apart = terms * model.seconds("mul_int", shape) + (terms - 1) * model.seconds("add", shape)
    found = estimate(plan_with(total_of, inputs=terms), model)
    assert apart / 4 < found.seconds < apart / 1.5
    assert (found.counts.integer_products, found.counts.additions) == (terms, terms - 1)

"""Layout conversions as primitives and on ciphertexts: what is counted of them is what runs."""

import numpy as np
import pytest
from array_programs import encrypted
from conversion_cases import counts_of
from vec_cases import Vectors, expanded, plan_of, small_chain

from latticework.compiler.passes import cse, dce
from latticework.ir import run_passes
from latticework.plan.analysis.simulate import simulate
from latticework.tensor.layout import Layout
from latticework.tensor.layout.conversions import direct

parse = Layout.parse
CASES = [
    ("rot-roll", "[R:4];[0:4][1:4]", "Roll(1,0)[R:4];[0:4][1:4]"),
    ("take", "[0:4];[R:4][1:4]", "[0:4][R:2];[R:4][1:4]"),
    ("roll", "[R:4];[0:4][1:4]", "Roll(2,0)[R:4];[0:4][1:4]"),
    ("roll", "[0:4][1:4]", "Roll(1,0)[0:4][1:4]"),
    ("bsgs-roll", "[0:4][1:4]", "Roll(1,0)[0:4][1:4]"),
    ("replicate", "[0:4];[1:4][G:4]", "[0:4];[1:4][R:4]"),
    ("compact", "[1:4];[0:4][G:4]", "[0:4][1:4]"),
    ("permute", "[R:4];[0:4][1:4]", "[0:4];[R:4][1:4]"),
    ("block", "[0:4][1:4]", "[1:4];[0:4][R:4]"),
]


def program(conversion):
    """A module that converts one secret array."""
    v = Vectors(1, slots=conversion.source.slots, counts=(conversion.source.count,))
    return run_passes(v.done(conversion.lower(v.builder, v.x[0])), (cse.PASS, dce.PASS))


@pytest.mark.parametrize(("name", "source", "target"), CASES)
def test_on_ciphertexts(name, source, target):
    """At insecure parameters of N = 2^11."""
    shape = (4, 4)
    conversion = next(c for c in direct(shape, parse(source), parse(target)) if c.name == name)
    counts = counts_of(conversion)
    module, chain = program(conversion), small_chain(counts.levels, ring_degree=2048)
    switches = products = 0
    for op in expanded(module, chain).walk():
        if op.name == "rlwe.map_sums":
            products += len(op.attrs["sums"].products.values)
            switches += len(op.attrs["sums"].products.switches())
        elif op.name == "rlwe.diag_sums":
            products += len(op.attrs["terms"])
            switches += len(op.operands) - 1 - len(op.attrs["terms"])
        elif op.name in ("rlwe.key_product", "rlwe.rotate_over_p", "rlwe.rotate"):
            switches += op.result.type.count
        elif op.name == "rlwe.mul_plain":
            products += op.result.type.count
    assert (switches, products) == (counts.rotations, counts.products)
    plan = plan_of(program(conversion), chain)
    x = np.random.default_rng(0).uniform(-1, 1, shape)
    packed = conversion.source.pack_map(shape).pack(x)
    into = conversion.target.pack_map(shape)
    for y in (simulate(plan, [packed])[0], encrypted(plan, [np.atleast_2d(packed)])[0]):
        np.testing.assert_allclose(into.unpack(y if into.count > 1 else y.reshape(-1)), x, atol=1e-4)

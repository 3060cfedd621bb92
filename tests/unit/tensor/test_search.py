"""The search for layouts: what it says it took adds up, what it keeps is not beaten, and slow networks change choices."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.layout_choice import Seconds, find_layouts
from latticework.compiler.options.techniques import ALL
from latticework.errors import LayoutError, UserError
from latticework.frontend import trace
from latticework.ir import interpret
from latticework.plan.cost import CostModel
from latticework.plan.cost.networks import NETWORKS
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.schema.placement_record import ProgramLayout, pareto_front
from latticework.tensor.layout import assign_layouts
from latticework.tensor.layout.conversions.convert_take import distinct_vectors
from latticework.tensor.layout.layout_candidates import MOST_ORDERS, holds, in_order, seeds
from latticework.tensor.ops.lower import lower_to_vectors

COSTS = CostModel.load()
LAN, WAN = NETWORKS["lan"], NETWORKS["wan"]


@lw.program
def outer_sums(u: lw.Secret[64, 1], v: lw.Secret[1, 64]):
    return (u * v).sum(axis=0)


@lw.program
def product(a: lw.Secret[16, 16], b: lw.Secret[16, 16]):
    return a @ b


def found(program, slots, rate=LAN):
    return find_layouts(trace(program), slots, Seconds(COSTS, 1 << 13, 3, bits_a_second=rate))


def inputs_of(decisions):
    return {value.origin.name: layout for value, layout in decisions.inputs.items()}


def test_only_what_nothing_beats_is_kept():
    rng = np.random.default_rng(0)
    endings = [ProgramLayout(float(s), int(n), int(c)) for s, n, c in rng.integers(0, 6, (60, 3))]
    kept = pareto_front(endings)
    assert all(any(k.beats(e) for k in kept) for e in endings)
    assert not any(a.beats(b) for a in kept for b in kept if a is not b)
    chosen = ProgramLayout(1.0, 1, 1, True)
    assert pareto_front([ProgramLayout(1.0, 1, 1), chosen]) == (chosen,)


@pytest.mark.parametrize(("program", "slots"), [(outer_sums, 64), (product, 256)])
def test_what_the_decisions_took_adds_up(program, slots):
    decisions = found(program, slots)
    (chosen,) = [e for e in decisions.pareto if e.chosen]
    taken = decisions.taken.values()
    received = chosen.ciphertexts - sum(layout.count for layout in decisions.inputs.values())
    assert received >= 1
    total = sum(t.seconds + sum(m.seconds for m in t.moves) for t in taken)
    total += Seconds(COSTS, 1 << 13, 3).sending(received)
    assert total == pytest.approx(decisions.seconds) == pytest.approx(chosen.seconds)
    assert not any(e.beats(chosen) for e in decisions.pareto if not e.chosen)
    for op, other in decisions.others.items():
        assert other.layout != decisions.chosen[op].result


def test_sending_takes_as_long_as_the_network_says():
    rates = [Seconds(COSTS, 1 << 13, 3, bits_a_second=rate).sending(5) for rate in (LAN, WAN)]
    assert rates[1] == pytest.approx(10 * rates[0])


def test_a_slow_network_changes_what_is_sent():
    """Sent 64 times over, the column spares rotations and products; over a slow network it is sent once."""
    fast, slow = found(outer_sums, 64, 10 * LAN), found(outer_sums, 64, WAN)
    assert [inputs_of(fast)["u"].count, inputs_of(slow)["u"].count] == [64, 1]
    assert fast.chosen.values() != slow.chosen.values()
    assert any(e.ciphertexts == 3 for e in fast.pareto) and any(e.ciphertexts == 66 for e in slow.pareto)


@pytest.mark.parametrize("rate", [LAN, WAN])
def test_the_meaning_is_the_same_over_any_network(rate):
    module = trace(outer_sums)
    placed = assign_layouts(module, find_layouts(module, 64, Seconds(COSTS, 1 << 13, 3, bits_a_second=rate)))
    lowered, _, _ = lower_to_vectors(placed)
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=(64, 1)), rng.normal(size=(1, 64))]
    packs = [v.type.layout.pack_map(v.type.shape) for v in (*placed.inputs, *placed.body.terminator.operands)]
    (got,) = interpret(lowered, [pack.pack(a) for pack, a in zip(packs, arrays, strict=False)])
    np.testing.assert_allclose(packs[-1].unpack(got), outer_sums(*arrays), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("network", "sent"), [(10e9, 9), ("wan", 2)])
def test_programs_run_encrypted_however_their_inputs_are_sent(network, sent):
    model = lw.compile(outer_sums, precision_bits=8, ring_degree=1024, insecure=True, network=network)
    assert sum(i.pack.count for i in model.plan.client.inputs) == sent
    client = model.client()
    server = model.server(client.keygen().public())
    rng = np.random.default_rng(2)
    arrays = rng.uniform(-1, 1, (64, 1)), rng.uniform(-1, 1, (1, 64))
    got = client.decrypt(server(client.encrypt(*arrays))).reveal()
    np.testing.assert_allclose(got, outer_sums(*arrays), atol=0.1)


@pytest.mark.parametrize("network", ["internet", 0, -1.0, float("nan"), float("inf"), True, None, [1e9]])
def test_what_is_no_network_is_refused(network):
    with pytest.raises(UserError, match=r"network=.*'lan', 'wan', or a number of bits per second"):
        lw.compile(product, network=network)


def test_a_plan_keeps_how_its_layouts_were_chosen():
    plan = lw.compile(product, precision_bits=4, ring_degree=1024, insecure=True, network=5e8).plan
    placing = plan.placing
    assert placing.bits_a_second == 5e8 and placing.explored > 0
    assert [(s.name, s.operation) for s in placing.steps[:2]] == [("a", "input"), ("b", "input")]
    step = placing.steps[-1]
    assert step.operation == "matmul" and step.box and step.other not in ("", str(step.pack)) and step.seconds > 0
    assert "return a @ b" in plan.locations[step.location].text
    for conversion in step.conversions:
        assert (
            conversion.operand in ("a", "b")
            and len(conversion.way) == len(conversion.recipes) + 1
            and conversion.seconds > 0
        )
    assert read_plan(write_plan(plan)).placing == placing


def product_of(a, b):
    @lw.program
    def product(x: lw.Secret[a], y: lw.Secret[b]):
        return x @ y

    return product


def test_a_long_thin_matrix_compiles():
    """Some candidates of this product would have 16,000 vectors of 8,192 slots."""
    shapes = (8000, 128), (128,)
    x, y = (np.random.default_rng(0).uniform(-1, 1, shape) for shape in shapes)
    (got,) = lw.compile(product_of(*shapes), example=(x, y)).simulate(x, y)
    np.testing.assert_allclose(got, x @ y, atol=1e-12)


LARGE_PRODUCTS = [
    pytest.param(((300, 700), (700, 50)), marks=pytest.mark.slow),
    ((2000, 40), (40, 2000)),
    pytest.param(((512, 512), (512, 512)), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("shapes", LARGE_PRODUCTS, ids=str)
def test_what_a_large_product_moves_can_be_packed(shapes):
    """No power of two, no loops that turn each other, or more products than can be packed at once."""
    decisions = found(product_of(*shapes), 8192)
    ((op, placement),) = decisions.chosen.items()
    assert placement.fits and holds(placement.result, op.result.type.shape)
    ways = [decisions.find_conversions(move.operand, move.old, move.new) for move in decisions.taken[op].moves]
    assert all(distinct_vectors(step.target).layout.fits for way in ways for step in way)


@pytest.mark.parametrize("techniques", [ALL, replace(ALL, layout_search=False)], ids=["searched", "in order"])
def test_a_product_too_large_for_any_layout_is_refused_where_it_stands(techniques):
    module = trace(product_of((1000, 1000), (1000, 1000)))
    with pytest.raises(LayoutError, match="1000") as caught:
        find_layouts(module, 8192, Seconds(COSTS, 1 << 14, 3), techniques)
    assert str(caught.value.at).startswith(__file__)


def test_many_axes_have_few_forms():
    shape = (3,) * 12
    forms = seeds(shape, 8192)
    assert forms[0] == in_order(shape, 8192) and len(forms) <= MOST_ORDERS + 1
    assert all(holds(form, shape) for form in forms)

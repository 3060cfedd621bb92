"""Bootstraps of one kind are one block: as precise, as private and as quick as written out, and once in a plan."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from array_programs import Deployed
from rlwe_cases import to_bytes
from vec_cases import SLOTS, Vectors, expanded, plan_of

from latticework import _core
from latticework.compiler.codegen.bootstrap_plans import failure_probability_log2
from latticework.compiler.options.techniques import ALONE, UNPACKED
from latticework.errors import FormatError, RangeError, UnsupportedError
from latticework.ir import Loc, interpret, parse_module, print_module, verify
from latticework.plan.analysis.error_bounds import Magnitude, predict
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.simulate import simulate
from latticework.plan.cost import CostModel
from latticework.plan.cost.table import BootstrapRow
from latticework.plan.files.code_file import encode_code
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.instructions.executable import BootstrapBlock
from latticework.plan.instructions.register_kinds import KeyKind
from latticework.plan.instructions.walk import Domain, Walk
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.schema.bootstraps import bootstraps_of
from latticework.report.build import build_report
from latticework.runtime.server.server import _listener
from latticework.values.packing.packed_constants import slot_vectors

RESIDUAL = 3
MODEL = CostModel.load()
UNMEASURED = CostModel(replace(MODEL.table, bootstraps=()))


@pytest.fixture(scope="module")
def chain():
    return bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="small"))


def refresh(v, *values, line=1, **attrs):
    v.builder.loc = Loc("model.py", line, f"line {line}")
    attrs = {"target": RESIDUAL, "exponent": 0, "iterations": 1} | attrs
    return list(v.builder.create("vec.bootstrap", list(values), attrs).results)


def three_of_two_kinds():
    """x y^2, y by two real bootstraps to the top and one pair to a low level."""
    v = Vectors(2)
    x, y = v.x
    for line in (1, 2):
        (x,) = refresh(v, x, line=line)
        x = v.op("mul", x, y)
    return v.done(*refresh(v, x, y, line=3, target=1))


def both(module, chain):
    """Its plan with bootstraps shared, and with all of them in line."""
    return [plan_of(module, chain, residual=RESIDUAL, techniques=ways) for ways in (UNPACKED, ALONE)]


@pytest.fixture(scope="module")
def pair(chain):
    return both(three_of_two_kinds(), chain)


def test_two_bootstraps_of_one_kind_cost_one_expansion(chain):
    """Counted in instructions and blocks; another one of the kind is a call."""
    sizes = {}
    for number in (1, 2, 3, 7):
        v = Vectors(2)
        x, y = v.x
        for _ in range(number):
            x = v.op("mul", refresh(v, x)[0], y)
        shared, alone = both(v.done(x), chain)
        sizes[number] = len(shared.blocks[0].code), len(shared.blocks[1].code), len(alone.blocks[0].code)
        assert len(shared.blocks) == 2 and len(alone.blocks) == 1
        assert [i.op for i in shared.blocks[0].code].count("call") == number
        bytes_ = [len(write_plan(plan)) for plan in (shared, alone)]
        assert number == 1 or bytes_[0] < bytes_[1]
    bodies, blocks, inline = zip(*sizes.values(), strict=True)
    assert len(set(blocks)) == 1 and bodies[1] - bodies[0] == bodies[2] - bodies[1] < 10
    assert inline[1] - inline[0] > 100


def test_a_plan_knows_its_bootstraps(chain, pair):
    shared, alone = pair
    found = bootstraps_of(shared, chain)
    assert [(b.target, b.real, b.iterations, b.count, b.slots) for b in found.values()] == [
        (RESIDUAL, True, 1, 1, SLOTS), (1, False, 1, 1, SLOTS)
    ]  # fmt: skip
    assert {b.start.level for b in found.values()} == {chain.floor}
    assert alone.bootstraps == () and bootstraps_of(alone, chain) == {}
    assert [k for k in shared.keys] == [k for k in alone.keys]
    again = read_plan(write_plan(shared))
    assert (again.bootstraps, again.blocks) == (shared.bootstraps, shared.blocks)
    assert [use.count for use in shared.client.manifest.uses] >= [1] * len(shared.keys)


def differing(**changes):
    """Two bootstraps, of which one differs from what is usual."""
    counts = changes.pop("counts", [1, 1])
    v = Vectors(2, counts=counts)
    (x,), (y,) = refresh(v, v.x[0]), refresh(v, v.x[1], **changes)
    return v.done(x, y)


@pytest.mark.parametrize(
    ("changes", "blocks"),
    [({}, 1), ({"target": 2}, 2), ({"exponent": 1}, 2), ({"iterations": 2}, 2), ({"counts": [1, 2]}, 2)],
    ids=str,
)
def test_what_makes_a_kind(chain, changes, blocks):
    plan = plan_of(differing(**changes), chain, residual=RESIDUAL)
    assert len(plan.bootstraps) == blocks
    x, y = (np.linspace(-1, 1, s.pack.count * SLOTS).reshape(s.shape) for s in plan.client.secret_inputs)
    for made, wanted in zip(simulate(plan, [x, y]), (x, y), strict=True):
        np.testing.assert_allclose(made, wanted, atol=2.0**-19)


# -- encrypted ---------------------------------------------------------------------------------


def looped():
    """x y^n, bootstrapped in each of n turns, and once before and after them, to two levels."""
    v = Vectors(2, trips=True)
    x, y = v.x
    start = refresh(v, x, line=1)
    (z,) = v.loop(lambda _, z: refresh(v, v.op("mul", z, y), line=2), start, v.n, at_most=5)
    return v.done(*refresh(v, z, line=3, target=1))


@pytest.fixture(scope="module")
def deployed(pair):
    """Bootstraps in line, with keys."""
    return Deployed(pair[1], backend="cpu")


@pytest.fixture(scope="module")
def given(deployed):
    """x and y, and them encrypted."""
    x, y = np.random.default_rng(2).uniform(-1, 1, (2, SLOTS))
    return (x, y), deployed.encrypt([x[None], y[None]])


def elsewhere(
    deployed, plan, ciphertexts, backend="cpu", threads=1, key_file=None, constant_bytes=1 << 30, key_bytes=1 << 40
):
    """(executor, inputs, keys, context) of another plan with the same keys, in a context of its own."""
    context = _core.Context(core_parameters(plan.chain), backend, threads)
    if key_file is None:
        keys = _core.load_evaluation_keys(_core.save_evaluation_keys(None, deployed.keys), context)
    else:
        _core.save_evaluation_keys(key_file, deployed.keys)
        keys = _core.MappedKeys(key_file, context, key_bytes)
    code = _core.Plan(core_parameters(plan.chain), encode_code(plan))

    def constants(number, product=None):
        return slot_vectors(plan.constants[number], plan.sources, product)

    inputs = [_core.load_ciphertexts(to_bytes(*array), context)[0] for array in ciphertexts]
    return _core.Executor(context, code, keys, constants, constant_bytes), inputs, keys, context


@pytest.mark.parametrize(
    "place", [("cpu", 2), pytest.param(("cpu", 1), marks=pytest.mark.slow), pytest.param(("ref", 2), marks=pytest.mark.slow)],
    ids=str,
)  # fmt: skip
def test_ciphertexts_are_bit_for_bit_those_of_bootstraps_in_line(pair, deployed, given, place):
    """Under the same keys, on one thread and on two, on both backends; in line on one thread of one of them."""
    (x, y), ciphertexts = given
    expected = deployed.executor.run(list(ciphertexts))
    for made, wanted in zip(expected, (x * y**2, y), strict=True):
        np.testing.assert_allclose(np.real(deployed.decryptor.decrypt(made)), wanted, atol=2.0**-17)
    executor, inputs, *_ = elsewhere(deployed, pair[0], ciphertexts, *place)
    assert to_bytes(*executor.run(inputs)) == to_bytes(*expected)


def test_progress_advances_in_called_blocks(pair, deployed, given):
    """A step for each instruction of the body and of the blocks that it calls, never back, up to the last."""
    executor, inputs, *_ = elsewhere(deployed, pair[0], given[1])
    seen = []
    executor.run(inputs, _listener(pair[0], inputs, seen.append, 1, 2))
    body, real, both, eval_mod = [len(block.code) - 1 for block in pair[0].blocks]
    steps = body + 2 * real + both + 2 * eval_mod
    assert [(event.done, event.total) for event in seen] == [(steps + 1 + i, 2 * steps) for i in range(steps)]


def test_a_loop_with_a_run_time_trip_count_calls_what_stands_around_it(chain):
    """Values encrypted and in line; every instruction of every turn is a step, and events carry turns and bootstraps."""
    plans, turns = both(looped(), chain), 3
    plan, seen, server = plans[0], [], Deployed(plans[0])
    assert len(plan.bootstraps) == 2 and len(plan.blocks) == 4
    x, y = np.random.default_rng(8).uniform(-1, 1, (2, SLOTS))
    inputs = [*server.encrypt([x[None], y[None]]), turns]
    (found,) = server.executor.run(inputs, _listener(plan, inputs, seen.append, 0, 1))
    np.testing.assert_allclose(np.real(server.decryptor.decrypt(found)), x * y**turns, atol=2.0**-16)
    assert [(event.done, event.total) for event in seen] == [(i + 1, len(seen)) for i in range(len(seen))]
    calls = [(e.bootstraps, e.iteration, e.trips) for e in seen if e.op == "call"]
    assert calls == [(1, 0, 3), (2, 1, 3), (3, 2, 3), (4, 3, 3), (5, 0, 0)]
    assert {(e.iteration, e.trips) for e in seen} == {(0, 0), (0, 3), (1, 3), (2, 3), (3, 3)}
    for trips in (0, 2):
        np.testing.assert_array_equal(*[simulate(plan, [x, y, trips])[0] for plan in plans])


def test_two_calls_need_no_more_memory_for_keys_than_one(pair, deployed, given, tmp_path):
    """With the least that the plan runs with, a small part of all keys, and the same bytes."""
    plan, path = pair[0], tmp_path / "keys.lwkeys"
    expected = deployed.executor.run(list(given[1]))
    least, *_ = elsewhere(deployed, plan, given[1], key_file=path)[0].key_need
    executor, inputs, keys, _ = elsewhere(deployed, plan, given[1], key_file=path, key_bytes=least)
    assert to_bytes(*executor.run(inputs)) == to_bytes(*expected)
    assert keys.traffic["peak_bytes"] <= least < 0.05 * plan.client.manifest.total_resident_bytes


# -- what plans are asked ------------------------------------------------------------------------


def test_what_a_call_spends_is_booked_on_its_line(pair):
    """Times, counts and lines are those of bootstraps in line, where no bootstrap has a price of its own."""
    costs = [estimate(plan, UNMEASURED) for plan in pair]
    lines = []
    for plan, cost in zip(pair, costs, strict=True):
        booked = {plan.locations[at].line: seconds for at, seconds in cost.by_location.items() if seconds > 0}
        assert set(booked) == {1, 2, 3}
        lines.append(booked)
    warm = [cost.warm_seconds for cost in costs]
    assert warm[0] == pytest.approx(warm[1], rel=1e-9)
    assert sum(lines[0].values()) == pytest.approx(sum(lines[1].values()), rel=1e-9)
    counts = [replace(cost.counts, bootstraps=0) for cost in costs]
    assert counts[0] == counts[1] and costs[0].counts.bootstraps == 3
    assert costs[0].key_uses == costs[1].key_uses and costs[0].units == pytest.approx(costs[1].units)
    assert [u.count for u in pair[0].client.manifest.uses] == [u.count for u in pair[1].client.manifest.uses]
    assert costs[0].memory.values <= costs[1].memory.values


def test_a_bootstrap_is_priced_as_a_whole(chain, pair):
    """As measured, for each ciphertext, where its kind was; its own steps share that out."""
    row = BootstrapRow(chain.ring_degree, len(chain.primes), len(chain.special), 1, SLOTS, None, 0.75)
    model = CostModel(replace(MODEL.table, bootstraps=(row,)))
    costs = {table: estimate(pair[0], table) for table in (UNMEASURED, model)}
    plain, whole = (cost.bootstraps for cost in costs.values())
    assert [call.kind.target for call in whole.calls] == [RESIDUAL, RESIDUAL, 1]
    assert [call.seconds for call in whole.calls] == pytest.approx([0.75] * 3)
    outside = [cost.warm_seconds - cost.bootstraps.seconds for cost in costs.values()]
    assert outside[0] == pytest.approx(outside[1])
    shares = [[s.seconds for s in cost.steps if s.bootstrap == 1 and not s.is_encoding] for cost in costs.values()]
    np.testing.assert_allclose(np.divide(*map(np.array, shares), where=np.array(shares[0]) > 0, out=np.zeros(len(shares[0])))
                               .max(), plain.calls[0].seconds / 0.75)  # fmt: skip
    assert MODEL.table.bootstraps and estimate(pair[0], MODEL).bootstraps.seconds > plain.seconds


def test_what_bootstraps_add(chain, pair):
    """Keys that nothing else reads, and a probability for all of them."""
    costs, (x, y) = estimate(pair[0], MODEL).bootstraps, pair[0].blocks[0].arguments
    inside = {o.register for block in pair[0].blocks[1:] for i in block.code for o in i.operands}
    outside = {o.register for i in pair[0].blocks[0].code for o in i.operands} - {x, y}
    keys = [{pair[0].kind(r).key for r in part if isinstance(pair[0].kind(r), KeyKind)} for part in (inside, outside)]
    assert set(costs.keys) == keys[0] - keys[1] and keys[0] & keys[1]
    real, both_parts = (failure_probability_log2(chain, slots=SLOTS, real=real) for real in (True, False))
    assert 2.0**costs.failure_log2 == pytest.approx(2 * 2.0**real + 2.0**both_parts)
    assert estimate(pair[1], MODEL).bootstraps is None


def test_keys_are_used_as_often_as_bootstraps_are_called(chain):
    """From the body and from a loop in it, whose block stands behind the one that it calls."""
    plan = plan_of(looped(), chain, residual=RESIDUAL)
    for kind in ("to_sparse", "to_dense"):
        assert sum(use.count for use in plan.client.manifest.uses if use.spec.kind == kind) == 3


def test_a_called_block_counts_as_often_as_its_loop_turns(chain):
    plan = plan_of(looped(), chain, residual=RESIDUAL)
    counts = [estimate(plan, MODEL, {"n": n}).counts for n in (0, 1, 4)]
    assert [c.bootstraps for c in counts] == [2, 3, 6]
    assert counts[2].rotations - counts[1].rotations == 3 * (counts[1].rotations - counts[0].rotations) > 0


def test_peak_memory_is_that_of_a_run(pair, deployed, given):
    """What the caller holds and what the called block adds, as the core measures it."""
    executor, inputs, _, context = elsewhere(deployed, pair[0], given[1], constant_bytes=0)
    before = context.live_bytes - sum(c.num_bytes for array in inputs for c in array)
    context.reset_peak()
    executor.run(inputs)
    assert estimate(pair[0], MODEL).memory.values / (context.peak_bytes - before) == pytest.approx(1.0, abs=0.3)


def test_reports_name_lines_and_count_bootstraps(pair):
    report = build_report(pair[0], MODEL)
    text, page, data = report.text(), report.html(), json.loads(report.json())["bootstraps"]
    assert "bootstraps, of all of these" in text and "3 ciphertexts are bootstrapped in a run" in text
    for n, (kind, levels) in enumerate([("16 real", "2 to 5"), ("16 real", "2 to 5"), ("16 complex", "2 to 3")], 1):
        assert re.search(rf"line {n} +model.py:{n} +{kind} +{levels} +1 ", text)
        assert f"<title>bootstrap {n}: " in page and data["calls"][n - 1]["where"] == f"model.py:{n}"
    assert data["number"] == 3 and 0 < data["stored_bytes"] < data["resident_bytes"]
    assert data["seconds"] == pytest.approx(sum(call["seconds"] for call in data["calls"]))
    assert {moment["bootstrap"] for moment in json.loads(report.json())["timeline"]} == {None, 0, 1, 2}
    assert build_report(pair[1], MODEL).execution.bootstraps is None
    assert {moment.lines for moment in report.execution.timeline} <= {
        ((f"model.py:{n}", f"line {n}"),) for n in (1, 2, 3)
    }  # fmt: skip


class OneStep(Domain):
    """Simulates nothing: a bootstrap is the identity, everything else a count."""

    def __init__(self, plan):
        self.bootstraps = bootstraps_of(plan, plan.chain)
        self.seen, self.entered = [], 0

    def step(self, site, operands):
        self.seen.append(site.record.name)
        return [operands[0] if operands else None] * len(site.use.results)

    def call(self, site, operands, follow):
        self.entered += site.instruction.immediate[0] not in self.bootstraps
        return [("refreshed", *operands)] if not self.entered else follow()


def test_a_domain_may_take_a_bootstrap_for_one_step(chain, pair):
    domain = OneStep(pair[0])
    found = Walk(pair[0], chain, domain).run(0, ["x", "y"])
    assert domain.entered == 0 and "mod_raise" not in domain.seen
    assert all("refreshed" in str(value) for value in found)


def test_faults_inside_a_called_block_name_the_line_of_the_call(pair):
    with pytest.raises(RangeError, match="model.py:1: a value here reaches"):
        simulate(pair[0], [np.full(SLOTS, 1e9), np.ones(SLOTS)])
    with pytest.raises(UnsupportedError, match="model.py:1"):
        predict(pair[0], [Magnitude(1.0, 1.0)] * 2)


class Draws:
    """A program by chance: values in [-1, 1] with the levels that they have left, bootstrapped where those run out."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.v = Vectors(2, counts=[1, 2], trips=True)
        self.held = [(x, 1) for x in self.v.x]
        self.turned = 0

    def pick(self, left=0):
        fitting = [value for value, levels in self.held if levels >= left]
        return fitting[self.rng.integers(len(fitting))]

    def fresh(self, x):
        """By a bootstrap of some kind, of what no other has: in line two would have their first steps in common."""
        self.turned += 1
        x = self.v.op("rotate", x, steps=self.turned)
        target = int(self.rng.integers(1, RESIDUAL + 1))
        (made,) = refresh(self.v, x, target=target, exponent=int(self.rng.integers(2)))
        return made, target

    def step(self):
        match self.rng.integers(5):
            case 0:
                self.held.append(self.fresh(self.pick()))
            case 1:
                x, left = self.fresh(self.pick())
                self.held.append((self.v.op("mul", x, x), left - 1))
            case 2:
                x, left = self.held[self.rng.integers(len(self.held))]
                self.held.append((self.v.op("rotate", x, steps=1), left))
            case 3:
                start, _ = self.fresh(self.pick())

                def body(_, z):
                    return refresh(self.v, self.v.op("mul", z, z), target=2)

                (x,) = self.v.loop(body, [start], self.v.n, at_most=3)
                self.held.append((x, 0))
            case _:
                x, _ = self.fresh(self.pick())
                self.held.append((self.v.op("mul", x, self.v.splat(0.5)), 0))

    def module(self):
        for _ in range(5):
            self.step()
        return self.v.done(*[value for value, _ in self.held[2:][-3:]])


@pytest.mark.parametrize("seed", range(3))
def test_programs_by_chance_are_what_they_are_in_line(chain, seed):
    """Values to the last bit, operations, key products and units; no register more is alive at any time."""
    shared, alone = both(Draws(seed).module(), chain)
    x = np.random.default_rng(seed).uniform(-1, 1, (2, SLOTS))
    inputs = [x[0], x, 2]
    for a, b in zip(*(simulate(plan, inputs) for plan in (shared, alone)), strict=True):
        np.testing.assert_array_equal(a, b)
    costs = [estimate(plan, UNMEASURED, {"n": 2}) for plan in (shared, alone)]
    assert replace(costs[0].counts, bootstraps=0) == costs[1].counts
    assert costs[0].key_uses == costs[1].key_uses and costs[0].units == pytest.approx(costs[1].units)
    assert costs[0].memory.values <= costs[1].memory.values
    assert shared.client.manifest == alone.client.manifest
    assert read_plan(write_plan(shared)).bootstraps == shared.bootstraps
    assert len(shared.bootstraps) <= costs[0].counts.bootstraps


# -- files and the IR ----------------------------------------------------------------------------


BAD_RECORDS = {
    "out of range": ((9, True, 1), "block 9 is no bootstrap"),
    "the body": ((0, True, 1), "block 0 is no bootstrap"),
    "iterations": ((1, True, 3), "block 1 is no bootstrap of 3 iterations"),
    "not called": ((3, True, 1), "block 3 is no bootstrap|no call leads to a bootstrap in block 3"),
}


@pytest.mark.parametrize(("record", "message"), BAD_RECORDS.values(), ids=BAD_RECORDS)
def test_a_block_that_is_no_bootstrap_is_refused(chain, record, message):
    plan = plan_of(looped(), chain, residual=RESIDUAL)
    with pytest.raises(FormatError, match=message):
        read_plan(write_plan(replace(plan, bootstraps=(BootstrapBlock(*record),))))
    with pytest.raises(FormatError, match="said to be a bootstrap twice"):
        read_plan(write_plan(replace(plan, bootstraps=plan.bootstraps * 2)))


def test_modules_with_procedures_are_printed_copied_and_interpreted(chain):
    module = expanded(three_of_two_kinds(), chain, RESIDUAL)
    verify(module)
    text = print_module(module)
    assert text.count('"procedure.define"') == 3 and text.count('"procedure.call"') == 3 + 2
    for same in (parse_module(text, sources=module.sources), module.clone()):
        verify(same)
        assert print_module(same) == text
    x, y = np.random.default_rng(4).uniform(-1, 1, (2, SLOTS))
    for made, wanted in zip(interpret(module, [x, y]), (x * y**2, y), strict=True):
        np.testing.assert_allclose(np.real(made), wanted, atol=2.0**-19)

"""What a server holds under one budget: never more than it is given, never less than the core was seen to hold."""

import json
from dataclasses import replace

import numpy as np
import pytest
from array_programs import Deployed, draw
from typer.testing import CliRunner
from vec_cases import Vectors, plan_of, small_chain

from latticework import _core, cli
from latticework.compiler.levels import program_depth
from latticework.errors import BudgetError
from latticework.ir import Loc
from latticework.plan.analysis.kept_constants import all_bytes, encodings, keep_constants
from latticework.plan.analysis.memory_plan import MemoryPlanner, ValueMemory, at_once_with, plan_memory
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import write_plan
from latticework.plan.instructions.value_shapes import key_row_bytes, row_bytes
from latticework.plan.key_schedule.key_uses import key_order, key_uses
from latticework.plan.key_schedule.schedule import schedule, schedule_of
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain

MODEL = CostModel.load()


def bootstraps(chain, number):
    """So many in a row, each times y."""
    v = Vectors(2)
    x, y = v.x
    for line in range(1, number + 1):
        v.builder.loc = Loc("model.py", line, f"line {line}")
        (x,) = v.builder.create("vec.bootstrap", [x], {"target": 3, "exponent": 0, "iterations": 1}).results
        x = v.op("mul", x, y)
    return plan_of(v.done(x), chain, residual=3)


@pytest.fixture(scope="module")
def chain():
    return bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="small"))


@pytest.fixture(scope="module")
def plans(chain):
    return {number: bootstraps(chain, number) for number in (1, 3)}


@pytest.mark.parametrize(("by_level", "part"), [(True, 0.9), (False, 0.5)])  # by level a key serves fewer levels
def test_uses_are_at_the_level_of_use(plans, chain, by_level, part):
    """A key is as large as its largest use; what others read of it is a part, of digits and limbs alike."""
    plan = plans[3] if by_level else bootstraps(replace(chain, gadgets=(), low_special=()), 3)
    uses, manifest = key_uses(plan, plan.chain), plan.client.manifest
    assert {use.part.key for use in uses} == set(range(len(plan.keys)))
    padded = key_row_bytes(plan.chain) / (2 * 8 * plan.chain.ring_degree)
    for number, size in enumerate(manifest.bytes_resident):
        own = [use for use in uses if use.part.key == number]
        assert max(use.bytes for use in own) <= size * padded + 1e-6
        whole = [use for use in own if use.part.spec == plan.keys[number]]
        assert all(use.bytes == pytest.approx(size * padded) for use in whole)
        assert all(set(use.part.limbs) <= set(own[0].part.limbs) or use.bytes >= own[0].bytes for use in own)
    assert any(use.bytes < manifest.bytes_resident[use.part.key] * part for use in uses)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_holds_no_more_than_predicted(seed):
    """Ciphertexts, plaintexts in use, and constants that are kept, as the core counts them."""
    module, inputs, _ = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    deployed = Deployed(plan, backend="ref")
    sent, known, context = deployed.encrypt(inputs), encodings(plan, TripCounts(plan), MODEL), deployed.context
    before = context.live_bytes - sum(c.num_bytes for array in sent for c in array)
    rounded, whole = all_bytes(known)
    values = ValueMemory(plan, TripCounts(plan), known)
    for constants in (0, rounded // 2, rounded, rounded + whole // 2, rounded + whole):
        executor = deployed.executor_with(constants)
        executor.run(sent)
        context.reset_peak()
        executor.run(sent)
        kept = keep_constants(known, constants)
        held = values(constants).bytes(1) + kept.whole_bytes  # coefficients are not the device's
        assert executor.cached_constant_bytes <= kept.bytes <= constants
        assert (context.peak_bytes - before) / held < 1.03
        del executor
    assert (kept.rounded, kept.anew) == (0, 0)


def test_any_number_of_bootstraps_needs_as_much_as_one(plans):
    one, three = (plan_memory(plans[number], 1 << 40, MODEL) for number in (1, 3))
    assert one.keys.smallest.bytes == three.keys.smallest.bytes < one.keys.all_bytes / 30
    assert one.keys.loads == three.keys.loads and three.keys.total.wanted > 2.9 * one.keys.total.wanted


def test_budgets_are_kept_and_the_smallest_is_the_smallest(plans):
    plan = plans[3]
    everything = plan_memory(plan, 1 << 40, MODEL)
    seconds = []
    for budget in (
        everything.peak_bytes,
        everything.peak_bytes // 2,
        everything.smallest * 5 // 4,
        everything.smallest,
    ):
        made = plan_memory(plan, budget, MODEL)
        assert made.peak_bytes <= budget and made.smallest == everything.smallest
        assert made.seconds >= made.resident_seconds == everything.resident_seconds
        seconds.append(made.seconds)
    assert seconds[-1] == max(seconds)
    with pytest.raises(BudgetError, match=rf"give at least .*\({everything.smallest} bytes\)") as refused:
        plan_memory(plan, everything.smallest - 1, MODEL)
    assert str(refused.value).startswith("model.py:1: program ") and "reads at once" in refused.value.message


def test_what_is_not_tried_could_not_have_won(plans):
    """Amounts for constants are left out only where another is quicker, whatever is read of keys."""
    planner = MemoryPlanner(plans[3], MODEL)
    least, most = planner.smallest(), planner.share(1 << 50).peak_bytes
    tried, with_constants = [], planner.with_constants
    planner.with_constants = lambda *given: tried.append(given) or with_constants(*given)
    for budget in np.geomspace(least, most, 8):
        all_amounts = [with_constants(int(budget) + 1, amount, None, None) for amount in planner.amounts()]
        possible = [made for made in all_amounts if made is not None]
        assert planner.share(int(budget) + 1) == min(possible, key=lambda made: (made.seconds, made.constants_bytes))
    assert len(tried) < 8 * len(list(planner.amounts()))


def test_several_runs_share_a_budget(plans):
    """Values of each are there, plaintexts once; keys and constants get what is left."""
    plan, smallest = plans[3], []
    for runs in (1, 2, 5):
        everything = plan_memory(plan, 1 << 40, MODEL, runs=runs)
        assert everything.most_runs > 1000
        smallest.append(everything.smallest)
        for budget in (everything.smallest, everything.smallest * 3 // 2):
            made = plan_memory(plan, budget, MODEL, runs=runs)
            assert made.peak_bytes <= budget and made.most_runs >= made.runs == runs
            one, more = made.of_runs.bytes(1), made.of_runs.bytes(made.most_runs + 1)
            assert made.values >= one + (runs - 1) * made.of_runs.alone
            assert more + made.tables + made.constants_bytes + made.key_bytes > budget
        with pytest.raises(BudgetError, match=rf"for values.*give at least .*\({everything.smallest} bytes\)"):
            plan_memory(plan, everything.smallest - 1, MODEL, runs=runs)
    assert smallest[1] - smallest[0] >= one - made.of_runs.beside
    assert smallest == sorted(set(smallest))


def test_keys_that_are_read_when_needed_stall_the_run(plans):
    ahead, late = (plan_memory(plans[1], 1 << 40, MODEL, readers=readers).keys for readers in (1, 0))
    assert ahead.loads == late.loads and 0 < ahead.total.stall_seconds < late.total.stall_seconds
    assert late.seconds - late.total.stall_seconds == pytest.approx(ahead.seconds - ahead.total.stall_seconds)


def test_explain_shares_memory_out(plans, tmp_path):
    path = tmp_path / "three.lwplan"
    write_plan(plans[3], path)
    words = ["explain", str(path), "--memory", "40MB"]
    said, told = (CliRunner().invoke(cli.app, [*words, *more]) for more in ([], ["--json"]))
    assert said.exit_code == told.exit_code == 0
    facts = json.loads(told.stdout)["memory"]
    assert facts["peak_bytes"] <= facts["budget_bytes"] == 40_000_000
    assert (
        facts["values"] + facts["tables"] + facts["constants"]["bytes"] + facts["keys"]["peak_bytes"]
        == facts["peak_bytes"]
    )
    assert "Keys in memory (with 40.0 MB, predicted" in said.stdout and "line 2  model.py:2" in said.stdout
    assert f"uses {facts['lines'][0]['used'] * 3:,.0f}" in said.stdout
    assert sum(line["loads"] for line in facts["lines"]) == pytest.approx(facts["keys"]["loads"])
    several = CliRunner().invoke(cli.app, [*words, "--runs", "2", "--json"])
    of_two = json.loads(several.stdout)["memory"]
    assert of_two["runs"] == 2 <= of_two["most_runs"] and of_two["smallest_bytes"] > facts["smallest_bytes"]
    assert "scratch of a run" in said.stdout and "There is room for" in said.stdout
    alone = CliRunner().invoke(cli.app, ["explain", str(path), "--runs", "2"])
    assert alone.exit_code == 1 and "give --memory, or leave it out" in alone.stderr
    small = CliRunner().invoke(cli.app, ["explain", str(path), "--memory", "1kB"])
    assert small.exit_code == 1 and "--memory 1.00 kB is too little" in small.stderr
    assert CliRunner().invoke(cli.app, ["explain", str(path), "--memory", "much"]).exit_code == 1


class NoPrices:
    """Only what is read is asked for."""

    row_seconds = 0.0

    def seconds(self, _site):
        return 0.0


def as_run(deployed, inputs, path, constants):
    """Runs under several budgets read what is predicted of them, row for row."""
    plan, context = deployed.plan, deployed.context
    _core.save_evaluation_keys(path, deployed.keys)
    at_once = at_once_with(constants, row_bytes(plan.chain))
    everything = schedule(plan, 1 << 40, NoPrices(), TripCounts(plan), at_once=at_once)
    least = everything.smallest
    for budget in sorted({least.bytes, least.overlapped, least.overlapped * 3, everything.all_bytes // 3}):
        for readers in (0, 1):
            keys = _core.MappedKeys(path, context, budget, readers=readers)
            executor = deployed.executor_with(constants, keys=keys)
            if readers:
                assert executor.key_need[0] == least.bytes
            if budget < executor.key_need[0]:
                continue
            executor.run(inputs)
            made = schedule(plan, budget, NoPrices(), TripCounts(plan), readers=readers, at_once=at_once)
            traffic = keys.traffic
            assert made.is_exact and made.loads == traffic["loads"]
            assert made.peak_bytes == traffic["peak_bytes"] <= budget
            assert made.total.wanted == traffic["hits"] + traffic["loads"]
            executor.run(inputs)
            order = key_order(plan, plan.chain, TripCounts(plan), at_once)
            later = schedule_of(order, plan, budget, NoPrices(), readers=readers, is_later=True)
            again = keys.traffic["loads"] - made.loads
            assert abs(later.loads - again) <= max(0.02 * again, 8) and keys.traffic["peak_bytes"] <= budget


@pytest.mark.parametrize("number", [1, 3])
def test_bootstraps_read_what_is_predicted(plans, number, tmp_path):
    deployed = Deployed(plans[number])
    rng = np.random.default_rng(number)
    inputs = deployed.encrypt(
        [rng.uniform(-0.5, 0.5, (1, spec.pack.slots)) for spec in plans[number].client.secret_inputs]
    )
    as_run(deployed, inputs, tmp_path / "keys.lwkeys", 1 << 24)


@pytest.mark.parametrize("seed", range(4))
def test_programs_read_what_is_predicted(seed, tmp_path):
    """Block maps go through their keys product by product as far as plaintexts may be held at once."""
    module, inputs, _ = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    if not plan.keys:
        pytest.skip("no key")
    deployed = Deployed(plan)
    for constants in (0, 1 << 16, 1 << 24):
        as_run(deployed, deployed.encrypt(inputs), tmp_path / "keys.lwkeys", constants)

"""Every use of a key, as a plan lists it: what real runs read of their files, instruction by instruction."""

from dataclasses import replace

import numpy as np
import pytest
from array_programs import Deployed, draw
from plan_assembler import Assembler, Last, cipher
from rlwe_cases import random_slots, shared_case, spec, to_bytes
from test_mapped_keys import DIGITS, ELEMENTS, SLOTS, TOP, expected, in_turn, mapped
from test_memory_plan import bootstraps
from test_run_states import drawn
from vec_cases import plan_of, small_chain

from latticework import _core
from latticework.compiler.levels import program_depth
from latticework.plan.analysis.memory_plan import at_once_with
from latticework.plan.instructions.value_shapes import key_row_bytes, row_bytes
from latticework.plan.key_schedule.key_uses import key_uses
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain


class Trace:
    """Rows that a run reads of each key, by the instruction that reads them: with room for all, each once, when it is
    first needed."""

    def __init__(self, plan, inputs, path, constants):
        self.reads, self.steps = {}, []
        deployed = inputs[0]
        _core.save_evaluation_keys(path, deployed.keys)
        keys = _core.MappedKeys(path, deployed.context, 1 << 40, self.note, readers=0)
        self.names = [(s["kind"], s["galois_element"], s["track"], s["level"]) for s in keys.specs]
        deployed.executor_with(constants, keys=keys).run(inputs[1], self.step)

    def note(self, key, _is_ahead):
        self.reads[self.names[key]] = self.reads.get(self.names[key], 0) + 1

    def step(self, _op, block, place, *_):
        self.steps.append((block, place, self.reads))
        self.reads = {}


def check(plan, arrays, integers, path, constants):
    """What each instruction of a run reads is what its uses name and nothing before it did."""
    deployed = Deployed(plan)
    uses = key_uses(plan, plan.chain, at_once_with(constants, row_bytes(plan.chain)))
    trace = Trace(plan, (deployed, [*deployed.encrypt(arrays), *integers]), path, constants)
    by_place, seen = {}, set()
    for use in uses:
        assert use.bytes == use.part.rows * key_row_bytes(plan.chain) and use.passes > 0
        assert plan.blocks[use.block].code[use.index].op == use.op
        by_place.setdefault((use.block, use.index), []).append(use.part)
    for block, place, reads in trace.steps:
        found = {}
        for part in by_place.get((block, place), []):
            key = plan.keys[part.key]
            rows = {(part.key, digit, limb) for digit in part.digits for limb in part.limbs} - seen
            seen |= rows
            name = key.kind, key.galois_element, key.track, key.level
            found[name] = found.get(name, 0) + len(rows)
        assert reads == {name: number for name, number in found.items() if number}, (block, place)
    return seen


def arrays_for(plan, rng):
    return [rng.uniform(-0.5, 0.5, (s.pack.count, s.pack.slots)) for s in plan.client.secret_inputs]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("constants", [0, 1 << 24])
def test_programs_on_arrays(seed, constants, tmp_path):
    module, inputs, _ = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    if not plan.keys:
        pytest.skip("no key")
    assert check(plan, inputs, [], tmp_path / "keys.lwkeys", constants)


@pytest.mark.parametrize("seed", range(4))
def test_loops(seed, tmp_path):
    plan = plan_of(drawn(seed), small_chain(0))
    check(plan, arrays_for(plan, np.random.default_rng(seed)), [3], tmp_path / "keys.lwkeys", 1 << 24)


def test_bootstraps_that_are_called(tmp_path):
    """Twice: in the second one everything is there. All rows of all keys are read, but those of higher levels."""
    plan = bootstraps(bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="small")), 2)
    seen = check(plan, arrays_for(plan, np.random.default_rng(0)), [], tmp_path / "keys.lwkeys", 1 << 24)
    assert {key for key, _, _ in seen} == set(range(len(plan.keys)))


def held_from_the_start(order):
    """As `in_turn`, every key named once, before all uses."""
    a = Assembler([spec("galois", element, TOP) for element in ELEMENTS])
    b = a.block(cipher(TOP))
    (y,) = b.args
    keys = {number: b.op("key", [], ["key", number], number) for number in sorted(set(order))}
    for place, number in enumerate(order):
        key = keys[number] if number in order[place + 1 :] else Last(keys[number])
        y = b.op("rotate", [Last(y), key], cipher(TOP))
    b.yield_(Last(y))
    return a.plan(shared_case("plain").parameters)


@pytest.mark.parametrize("rows", [DIGITS, 2 * DIGITS, 20])
def test_how_long_a_register_names_a_key_says_nothing(rows, tmp_path):
    """Its rows are there while an instruction reads them, whether the name is given at each use or once for all."""
    case, order, traffic = shared_case("plain"), [0, 1, 2, 0, 1, 2, 0], []
    path = tmp_path / "keys.lwkeys"
    _core.save_evaluation_keys(path, case.keys)
    x = case.encrypt(random_slots(np.random.default_rng(7), SLOTS))
    for plan in (in_turn(order), held_from_the_start(order)):
        keys = mapped(case, path, rows)
        (y,) = _core.Executor(case.context, plan, keys).run([x])
        assert to_bytes(y) == expected(case, x, order)
        traffic.append((keys.traffic["loads"], keys.traffic["peak_bytes"]))
    assert traffic[0] == traffic[1]

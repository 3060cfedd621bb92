"""A run that goes on from any state that an earlier one reported gives the same bytes."""

import numpy as np
import pytest
from array_programs import Deployed
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework import _core
from latticework.errors import FormatError
from latticework.runtime.server.run_state import loop_registers, place_registers


def drawn(seed):
    """Loops, one in another among them, with turned values, products with public vectors and sums around and in them.

    Values from before are read in loops and after them, so digits, keys and plaintexts may outlive what made them.
    """
    rng = np.random.default_rng(seed)
    v = Vectors(2, trips=True)
    held = list(v.x)

    def step(values, public=True):
        a, b = (values[i] for i in rng.integers(len(values), size=2))
        match rng.integers(3 if public else 2):
            case 0:
                return v.op("add", v.op("rotate", a, steps=int(rng.integers(1, 4))), b)
            case 1:
                return v.op("sub", a, b)
            case _:
                return v.op("add", a, v.constant(rng.uniform(-1, 1, SLOTS)))

    def loop(outer, trips, at_most, depth):
        def body(_, *carried):
            values = [*outer, *carried]
            for _ in range(rng.integers(1, 3)):
                values.append(step(values))
            if depth and rng.integers(2):
                values += loop(values, 2, None, depth - 1)
            return [step([values[-1], c, *outer]) for c in carried]

        inits = [outer[i] for i in rng.choice(len(outer), size=min(len(outer), int(rng.integers(1, 3))), replace=False)]
        return list(v.loop(body, inits, trips, at_most=at_most))

    for _ in range(3):
        for _ in range(rng.integers(1, 3)):
            held.append(step(held))
        held += loop(held, v.n, 4, 1)
    held.append(step(held))
    return v.done(*held[-4:])


@pytest.mark.parametrize("seed", range(12))
def test_every_state_leads_to_the_same_bytes(seed):
    rng = np.random.default_rng(seed)
    plan = plan_of(drawn(seed), small_chain(0))
    server = Deployed(plan)
    inputs = [*server.encrypt([rng.uniform(-1, 1, (1, SLOTS)) for _ in range(2)]), 3]
    states = []
    whole = stored(server.executor.run(inputs, on_state=states.append))
    turns = [state[1:3] for state in states if state[1]]
    assert turns == [(1, 3), (2, 3), (3, 3)] * (len(turns) // 3) and 0 < len(turns) < len(states)
    for place, turn, _, registers in states:
        expected = (loop_registers if turn else place_registers)(plan, place)
        assert sorted(registers) == list(expected)
    for number, state in enumerate(states):
        later = []
        assert stored(server.executor.run(inputs, on_state=later.append, from_state=state)) == whole
        assert [s[:3] for s in later] == [s[:3] for s in states[number + 1 :]]


def test_keys_that_stay_in_their_file_come_in_the_order_of_what_is_left(tmp_path):
    plan = plan_of(drawn(0), small_chain(0))
    server = Deployed(plan)
    _core.save_evaluation_keys(tmp_path / "keys", server.keys)
    keys = _core.MappedKeys(tmp_path / "keys", server.context, 1 << 40)
    executor = server.executor_with(keys=keys)
    inputs = [*server.encrypt([np.full((1, SLOTS), 0.1)] * 2), 3]
    states = []
    whole = stored(executor.run(inputs, on_state=states.append))
    for state in states:
        assert stored(executor.run(inputs, from_state=state)) == whole


def stored(outputs):
    """As bytes."""
    return [bytes(_core.save_ciphertexts(None, [value], ["x"])) for value in outputs]


def test_states_of_something_else_are_refused():
    server = Deployed(plan_of(drawn(0), small_chain(0)))
    inputs = [*server.encrypt([np.zeros((1, SLOTS))] * 2), 2]
    states = []
    server.executor.run(inputs, on_state=states.append)
    loop, turns, of, registers = next(state for state in states if state[1])
    place, _, _, before = next(state for state in states if not state[1])
    last = len(server.plan.blocks[0].code) - 1
    reg = next(iter(registers))
    low = {**registers, reg: registers[reg] * 2}
    for state, told in [
        ((loop + 1, turns, of, registers), "which is no loop of this plan to go on in"),
        ((loop, 3, of, registers), "after iteration 3 of 2"),
        ((loop, -1, of, registers), "after iteration -1 of 2"),
        ((loop, turns, 9, registers), "the loop has at most 4"),
        ((loop, turns, 3, registers), "one of 3 iterations, not of 2"),
        ((loop, turns, of, {}), "does not hold the 1 ciphertexts"),
        ((loop, turns, of, low), "does not hold the 1 ciphertexts"),
        ((loop, turns, of, {**registers, 10**6: registers[reg]}), "registers that are not live"),
        ((0, 0, 0, {}), "before instruction 0, where no run of this plan goes on"),
        ((last + 1, 0, 0, {}), f"before instruction {last + 1}, where no run of this plan goes on"),
        ((place, 0, 3, before), "the loop has at most 0"),
        ((place, 0, 0, {}), "does not hold the 1 ciphertexts"),
        ((place, 0, 0, {**before, 10**6: registers[reg]}), "registers that are not live"),
    ]:
        with pytest.raises(FormatError, match=told):
            server.executor.run(inputs, from_state=state)


def test_the_states_of_long_code_are_few_and_small():
    """One for each of some hundred stretches of the body, where the fewest ciphertexts are held."""
    v = Vectors(1)
    x = v.x[0]
    for _ in range(150):
        x = v.op("sub", v.op("add", x, v.x[0]), x)  # two are held, and then one
    plan = plan_of(v.done(x), small_chain(0))
    server, states = Deployed(plan), []
    inputs = server.encrypt([np.full((1, SLOTS), 1e-6)])
    whole = stored(server.executor.run(inputs, on_state=states.append))
    assert len(plan.blocks[0].code) > 300 and 100 < len(states) <= 256
    assert {len(state[3]) for state in states} == {1}
    for state in states[:: len(states) // 5]:
        assert stored(server.executor.run(inputs, from_state=state)) == whole

"""A run that goes on from any state that an earlier one reported gives the same bytes."""

import numpy as np
import pytest
from array_programs import Deployed
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework import _core
from latticework.errors import FormatError


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
    whole = stored(server.executor.run(inputs, on_iteration=states.append))
    assert states and [state[1:3] for state in states] == [(1, 3), (2, 3), (3, 3)] * (len(states) // 3)
    for number, state in enumerate(states):
        later = []
        assert stored(server.executor.run(inputs, on_iteration=later.append, from_state=state)) == whole
        assert [s[:3] for s in later] == [s[:3] for s in states[number + 1 :]]


def stored(outputs):
    """As bytes."""
    return [bytes(_core.save_ciphertexts(None, [value], ["x"])) for value in outputs]


def test_states_of_something_else_are_refused():
    server = Deployed(plan_of(drawn(0), small_chain(0)))
    inputs = [*server.encrypt([np.zeros((1, SLOTS))] * 2), 2]
    states = []
    server.executor.run(inputs, on_iteration=states.append)
    loop, turns, of, registers = states[0]
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
    ]:
        with pytest.raises(FormatError, match=told):
            server.executor.run(inputs, from_state=state)

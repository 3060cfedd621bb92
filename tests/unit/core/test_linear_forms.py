"""Linear combinations that a run computes in one pass: the bytes of every step by itself, whatever the code."""

import numpy as np
import pytest
from plan_assembler import Assembler, Last, cipher
from rlwe_cases import SCALE, shared_case, to_bytes

from latticework import _core

TOP, SLOTS = 4, 64


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


def linear_code(rng, half, steps, inputs, count):
    """Random sums, differences and multiples by integers and powers of i, many of which are read once, by another."""

    def kind(degree):
        made = cipher(TOP, degree=degree)
        return [*made, count] if count > 1 else made

    a = Assembler([])
    b = a.block(*[kind(1)] * inputs)
    degree = dict.fromkeys(b.args, 1)
    wide = [*kind(2)[:4], SCALE**2, *kind(2)[5:]]
    product = b.op("mul_int", [Last(b.op("mul", b.args[:2], wide))], kind(2), 1)
    degree[product] = 2
    values, open_values = [*b.args, product], []

    def operand(chance):
        """A value that is read again, or, by chance, one that is not."""
        if open_values and rng.random() < chance:
            return Last(open_values.pop(rng.integers(len(open_values))))
        return values[rng.integers(len(values))]

    def degree_of(x):
        return degree[x.register if isinstance(x, Last) else x]

    for _ in range(steps):
        x = operand(0.8)
        of = degree_of(x)
        match rng.integers(6):
            case 0 | 1:
                out = b.op("mul_int", [x], kind(of), int(rng.choice([0, 1, -1, 3, 2**40, -(2**61), 2**62 - 1])))
            case 2:
                out = b.op("mul_monomial", [x], kind(of), int(rng.integers(4)) * half)
            case 3:
                out = b.op("neg", [x], kind(of))
            case _:
                y = operand(0.7)
                of = max(of, degree_of(y))
                out = b.op(str(rng.choice(["add", "sub"])), [x, y], kind(of))
        degree[out] = of
        (values if rng.random() < 0.2 else open_values).append(out)
    b.yield_(*values[inputs:], *open_values)
    return a


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_forms_give_the_bytes_of_every_step_by_itself(case, seed, count):
    rng = np.random.default_rng(seed)
    a = linear_code(rng, case.n // 2, 60, 4, count)
    plan = a.plan(case.parameters)
    executor = _core.Executor(case.context, plan, case.keys, None)

    def inputs():
        made = [[case.encrypt(rng.uniform(-1, 1, SLOTS)) for _ in range(count)] for _ in range(4)]
        return made if count > 1 else [each[0] for each in made]

    given = inputs()
    before = [to_bytes(*(x if count > 1 else [x])) for x in given]
    plain = executor.run(given)
    shown = executor.run(given, watch=list(range(len(a.registers))), on_watch=lambda *_: None)  # keeps no forms

    def as_bytes(values):
        return [to_bytes(*(v if isinstance(v, list) else [v])) for v in values]

    assert as_bytes(plain) == as_bytes(shown)
    assert before == [to_bytes(*(x if count > 1 else [x])) for x in given]  # inputs are as they were

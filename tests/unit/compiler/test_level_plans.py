"""Level plans: levels that follow from them, what is written from them, and the check that reads them back."""

from dataclasses import replace

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, small_chain

from latticework.compiler.layout_choice import CodeCost
from latticework.compiler.layout_choice.prices import Seconds
from latticework.compiler.levels import decide_levels, decide_levels_bfv, program_depth, unroll, write_levels
from latticework.compiler.levels import write_ciphertexts as writing
from latticework.compiler.levels.depth import depth_of, input_levels, levels_of
from latticework.compiler.levels.level_plan import LADDER, CipherState, Drop, Encode, Encrypt, Scale, Settle, after
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.compiler.passes import cse, dce
from latticework.errors import IrError
from latticework.ir import Loc, interpret, print_module, run_passes, verify
from latticework.plan.cost import CostModel
from latticework.values.packing.packed_constants import splat

EAGER = Techniques(lazy_relinearization=False, lazy_rescaling=False)
WATERLINE, PROACTIVE = Techniques(rescaling="waterline"), Techniques(rescaling="proactive")

PRICES = CodeCost(Seconds(CostModel.load(), 1 << 13, 8), 0.0)


def grown(rng, v, pool, nesting=0):
    """Random operations on a pool of values, with loops in loops, of all kinds; returns the larger pool."""
    pool = list(pool)

    def pick():
        return pool[rng.integers(len(pool))]

    def body(_i, *carried):
        inside = grown(rng, v, [*pool, *carried, *carried], nesting + 1)
        constant = v.op("trivial", v.constant(rng.uniform(-1, 1, SLOTS)))
        return [(constant, carried[-1], *inside)[rng.integers(2 + len(inside))] for _ in carried]

    def loop():
        inits = [pick() if rng.random() < 0.8 else v.op("trivial", v.splat(0.25)) for _ in range(rng.integers(1, 4))]
        most = int(rng.integers(3))
        return v.loop(body, inits, v.n, at_most=most) if rng.random() < 0.5 else v.loop(body, inits, most)

    for _ in range(rng.integers(2, 6)):
        kinds = [
            lambda: [v.op("mul", pick(), pick())],
            lambda: [v.op("add", pick(), pick())],
            lambda: [v.op("sub", v.constant(rng.uniform(-1, 1, SLOTS)), pick())],
            lambda: [v.op("mul", v.splat(float(rng.choice([-2.0, 0.5]))), pick())],
            lambda: [v.op("rotate", pick(), steps=1)],
            loop if nesting < 2 else lambda: [v.op("neg", pick())],
        ]
        pool += kinds[rng.integers(len(kinds))]()
    return pool


def random_module(seed):
    """A module with loops, tidy and not too deep."""
    for attempt in range(100):
        rng = np.random.default_rng([seed, attempt])
        v = Vectors(3, trips=True)
        module = run_passes(v.done(*grown(rng, v, v.x)[-3:]), (cse.PASS, dce.PASS))
        if program_depth(module) <= 8 and sum(1 for _ in unroll.run(module).walk()) < 400:
            return module
    raise AssertionError("no small module")


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_written_as_planned_and_keep_their_meaning(seed):
    module = random_module(seed)
    rng = np.random.default_rng(seed)
    for techniques in (ALL, EAGER, WATERLINE, PROACTIVE):
        plan = decide_levels(module, techniques, prices=PRICES)
        result = write_levels(plan, small_chain(plan.depth))
        verify(result)
        inputs = [*rng.uniform(-1, 1, (3, SLOTS)), 0]
        for got, want in zip(interpret(result, inputs), interpret(module, inputs), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-6 * max(1.0, np.max(np.abs(want))))


@pytest.mark.parametrize("seed", range(40))
def test_states_lie_where_levels_are_counted(seed):
    plan = decide_levels(random_module(seed), WATERLINE)
    starts = [0 if (state := plan.states[v]) is None else state.level for v in plan.module.body.args]
    levels = levels_of(plan.module, starts)
    assert plan.depth == depth_of(plan.module, levels) == program_depth(plan.module)
    for value, state in plan.states.items():
        if state is not None:
            assert state.level + 1 - state.scale.power == levels.of[value]


@pytest.mark.parametrize("seed", range(40))
def test_inputs_start_at_the_lowest_levels_that_do(seed):
    module = unroll.run(random_module(seed))
    depth, found = program_depth(module), input_levels(module)
    assert program_depth(module, found) == depth
    for number, value in enumerate(module.body.args[:3]):
        if found[number] > -depth:
            lower = [level - (i == number) for i, level in enumerate(found)]
            assert program_depth(module, lower) > depth, value


def test_a_plan_is_written_for_any_chain_that_is_long_enough():
    module = random_module(3)
    plan = decide_levels(module)
    assert plan.depth > 0
    for depth in (plan.depth, plan.depth + 2):
        for scale_bits in (30, 45):
            chain = small_chain(depth, scale_bits=scale_bits)
            assert print_module(write_levels(plan, chain)) == print_module(write_levels(decide_levels(module), chain))


def test_a_carried_value_that_nothing_reads_has_its_levels():
    v = Vectors(2)

    def outer(_i, h):
        _, kept = v.loop(lambda _j, a, b: [v.op("mul", v.op("mul", b, v.x[1]), v.x[1]), v.x[1]], [h, v.x[0]], 2)
        return [v.op("add", kept, h)]

    (y,) = v.loop(outer, [v.x[0]], 2)
    module = v.done(y)
    plan = decide_levels(module)
    assert plan.depth == program_depth(module) == 2
    inputs = [np.linspace(-1, 1, SLOTS), np.linspace(0, 1, SLOTS)]
    (got,), (want,) = interpret(write_levels(plan, small_chain(2)), inputs), interpret(module, inputs)
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_loops_are_told_with_what_became_of_them():
    v = Vectors(2, trips=True)
    (kept,) = v.loop(lambda _i, h: [v.op("add", h, v.x[1])], [v.x[0]], v.n)
    (copied,) = v.loop(lambda _i, h: [v.op("mul", h, v.x[1])], [kept], v.n, at_most=2)
    plans = list(decide_levels(v.done(copied)).loops.values())
    assert [(plan.copies, plan.guarded) for plan in plans] == [(None, False), (2, True)]
    assert plans[0].carried == (0,) and plans[1].results == (-2,)


# -- steps ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "step", "made"),
    [
        (CipherState(-1, Scale(2), 2), Settle(relinearize=True, rescale=True), CipherState(-2)),
        (CipherState(-1, Scale(2), 2), Settle(relinearize=True, rescale=False), CipherState(-1, Scale(2))),
        (CipherState(-1, Scale(2), 2), Settle(relinearize=False, rescale=True), CipherState(-2, LADDER, 2)),
        (CipherState(0), Drop(-3), CipherState(-3)),
        (None, Encrypt(-2), CipherState(-2)),
        (None, Encode(-2), None),
    ],
)
def test_what_steps_do(state, step, made):
    assert after(state, step) == made


def test_scales_by_the_ladder():
    ladder = 2.0**40 * 1.0000001
    assert LADDER.on(ladder) == ladder and Scale(2).on(ladder) == ladder * ladder
    assert Scale(1, 3.0).on(ladder) == ladder / 3.0


# -- the check ----------------------------------------------------------------------------------


def product():
    v = Vectors(2)
    v.builder.loc = Loc("program.py", 7, "")
    return v.done(v.op("rotate", v.op("mul", v.x[0], v.x[1]), steps=1))


@pytest.mark.parametrize("change", [{"level": -1}, {"scale": LADDER}, {"degree": 1}])
def test_a_value_that_is_not_as_planned_is_an_error_of_ours(change):
    plan = decide_levels(product())
    made = plan.module.body.ops[0].result
    wrong = replace(plan, states={**plan.states, made: plan.states[made]._replace(**change)})
    planned = str(wrong.states[made])
    with pytest.raises(IrError, match=r"^program.py:7: levels: the value #0 of vec.mul, was planned as ") as caught:
        write_levels(wrong, small_chain(1))
    assert planned in str(caught.value) and "stands as !rlwe.cipher" in str(caught.value)


def test_a_step_that_was_not_written_is_an_error_of_ours(monkeypatch):
    v = Vectors(2)
    module = v.done(v.op("mul", v.x[0], v.x[1]))
    monkeypatch.setattr(writing._Writer, "settle", lambda self, value, step: value)
    with pytest.raises(IrError, match=r"operand 0, #0, of loop.yield, was planned as level -1, ladder, degree 1"):
        write_levels(decide_levels(module), small_chain(1))


def test_a_plaintext_at_another_level_is_an_error_of_ours(monkeypatch):
    v = Vectors(1)
    module = v.done(v.op("mul", v.x[0], v.op("constant", value=splat(0.5, SLOTS))))
    plan = decide_levels(module)
    end = plan.module.body.ops[1]
    steps = tuple((number, replace(step, scale=Scale(2))) for number, step in plan.ops[end].before)
    found = {}
    monkeypatch.setattr(writing, "check_levels", lambda *given: found.setdefault("given", given))
    write_levels(plan, small_chain(1))
    monkeypatch.undo()
    wrong = replace(plan, ops={**plan.ops, end: replace(plan.ops[end], before=steps)})
    with pytest.raises(IrError, match=r"operand 1, #0, of vec.mul, was planned as Encode"):
        writing.check_levels(wrong, *found["given"][1:])


def test_a_public_value_is_not_written_by_itself():
    v = Vectors(1)
    plan = decide_levels_bfv(v.done(v.op("add", v.x[0], v.op("trivial", v.splat(2.0)))))
    public = [v for v, state in plan.states.items() if state is None]
    assert len(public) == 2 and all(plan.ops[v.owner].writes == "" for v in public)

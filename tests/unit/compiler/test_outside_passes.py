"""Passes from outside: run after their stage, verified, compared in the clear, and named by the plan."""

import numpy as np
import pytest
from stage_programs import SMALL, circuit, exact, loop

import latticework as lw
from latticework.errors import IrError, UserError
from latticework.plan.files.serialise import write_plan

ROWS = np.random.default_rng(0).uniform(-1, 1, (10, 8))


@lw.program
def doubled(x: lw.Secret[8]):
    """Sums that a peephole makes products of."""
    return (x + x) * np.roll(x, 1) + 0.25


def compiled(passes, **options):
    return lw.compile(doubled, calibrate=ROWS, passes=passes, **{**SMALL, **options})


def replacing(kind, make):
    """`run` of a pass that has `make(builder, op, operands)` in the place of each operation of a kind."""

    def visit(op, builder, mapping):
        if op.name != kind:
            return False
        made = make(builder, op, [mapping[v] for v in op.operands])
        if made is None:
            return False
        mapping[op.result] = made
        return True

    return lambda module, _cost: lw.ir.rebuild(module, visit)


def doubling(builder, op, operands):
    if operands[0] is not operands[1]:
        return None
    two = builder.build("vec.splat", [], value=2.0, slots=op.result.type.slots)
    return builder.build("vec.mul", [operands[0], two])


DOUBLE = lw.ir.Pass("double", replacing("vec.add", doubling), roots=("vec.add",), writes=("vec.splat", "vec.mul"))


def test_a_pass_runs_after_its_stage_and_the_plan_names_it():
    seen = []

    def look(module, _cost):
        seen.append({op.name.partition(".")[0] for op in module.walk()})
        return module

    stages = ("traced", "polynomials", "layouts", "vectors", "levels", "ciphertexts", "primitives")
    made = compiled({f"after {stage}": [lw.ir.Pass(f"look {stage}", look)] for stage in reversed(stages)})
    assert [kinds - {"loop"} for kinds in seen[:5]] == [{"tensor"}] * 3 + [{"vec"}] * 2
    assert seen[5] <= {"rlwe", "ckks", "loop"} and "key" in seen[6]
    assert made.plan.changes == tuple(f"Pass look {s} came after stage {s}, and changed nothing." for s in stages)
    assert made.plan.client.outputs[0].is_proved
    assert write_plan(made.plan) != write_plan(compiled(None).plan)  # it remembers
    assert made.plan.blocks == compiled(None).plan.blocks


def test_a_peephole_changes_code_and_bounds_count_as_not_proved():
    plain, made = compiled(None), compiled({"after vectors": [DOUBLE]})
    assert "value = 2.0" in made.ir("vectors") and "value = 2.0" not in plain.ir("vectors")
    assert not made.plan.client.outputs[0].is_proved and plain.plan.client.outputs[0].is_proved
    assert "Pass double came after stage vectors" in str(made.report())
    assert np.allclose(made.simulate(ROWS[0])[0], 2 * ROWS[0] * np.roll(ROWS[0], 1) + 0.25, atol=1e-3)


def wrong(builder, op, operands):
    two = builder.build("vec.splat", [], value=1.01, slots=op.result.type.slots)
    return builder.build("vec.mul", [operands[0], two])


def test_a_pass_that_changes_results_is_refused_by_name():
    bad = lw.ir.Pass("sloppy", replacing("vec.add", wrong), writes=("vec.splat", "vec.mul"))
    with pytest.raises(IrError, match="pass sloppy after stage vectors: changes results: result moves by"):
        compiled({"after vectors": [DOUBLE, bad]})
    with pytest.raises(IrError, match="pass sloppy after stage vectors: results may change at stage traced alone"):
        compiled({"after vectors": [bad], "changes results": ["sloppy"]})


def test_a_pass_after_tracing_may_change_results_where_it_is_named():
    def swap(builder, _op, operands):
        return builder.build("tensor.sub", operands)

    change = lw.ir.Pass("subtract", replacing("tensor.add", swap), writes=("tensor.sub",))
    with pytest.raises(IrError, match="pass subtract after stage traced: changes results"):
        compiled({"after traced": [change]})
    made = compiled({"after traced": [change], "changes results": ["subtract"]})
    assert made.plan.changes == ("Pass subtract came after stage traced, and was allowed to change results.",)
    assert np.allclose(made.simulate(ROWS[0])[0], -0.25, atol=1e-3) and np.allclose(made.plaintext(ROWS[0]), -0.25)


def unrelated(builder, _op, operands):
    return builder.build("vec.rotate", operands[:1], steps=3)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            lw.ir.Pass("p", replacing("vec.add", doubling)),
            "pass p: made vec.splat, or changed .*; it writes only nothing",
        ),
        (lw.ir.Pass("p", lambda module, _cost: module.clone(), removes=("vec.mul",)), "pass p: left vec.mul"),
        (lw.ir.Pass("p", replacing("vec.mul", unrelated), writes=("vec.rotate",)), "pass p .*changes results"),
    ],
)
def test_a_pass_is_held_to_what_it_declares_as_ours_are(step, message):
    with pytest.raises(IrError, match=message):
        compiled({"after vectors": [step]})


def test_a_pass_that_writes_into_what_it_was_given_is_refused():
    def write(module, _cost):
        for op in module.walk():
            if op.name == "vec.splat":
                op.attrs["value"] = 0.5
        return module

    with pytest.raises(IrError, match="pass writer after vectors: changed the module that it was given"):
        compiled({"after vectors": [lw.ir.Pass("writer", write)]})


def test_a_pass_that_fails_is_named():
    def fail(_module, _cost):
        raise UserError("no such luck")

    with pytest.raises(UserError, match="pass failing after vectors: no such luck"):
        compiled({"after vectors": [lw.ir.Pass("failing", fail)]})


@pytest.mark.parametrize(
    "given",
    [
        [DOUBLE],
        {"before vectors": [DOUBLE]},
        {"after vectors": DOUBLE},
        {"after vectors": [print]},
        {"changes results": ["double"]},
        {"after vectors": [DOUBLE], "changes results": "double"},
    ],
)
def test_what_are_no_passes_is_refused(given):
    with pytest.raises(UserError, match=r"passes=.*give a dictionary of lists of lw.ir.Pass.*'after primitives'"):
        compiled(given)


def swapped(field):
    def run(module, _cost):
        new = lw.ir.rebuild(module, lambda *_: False)
        setattr(new, field, list(reversed(getattr(new, field))))
        return new

    return lw.ir.Pass("swap", run)


@lw.program
def both(x: lw.Secret[8], y: lw.Secret[8]):
    return {"a": x + 0.5 * y, "b": x * y}


@pytest.mark.parametrize("stage", ["traced", "layouts", "vectors", "primitives"])
@pytest.mark.parametrize(("field", "message"), [
    ("outputs", "pass swap after stage .*: outputs were a, b and are b, a; they have to stay"),
    ("input_names", "pass swap after stage .*: inputs were x, y and are y, x; they have to stay"),
])  # fmt: skip
def test_names_that_clients_have_stay(stage, field, message):
    with pytest.raises(IrError, match=message):
        lw.compile(both, calibrate={"x": ROWS, "y": ROWS}, passes={f"after {stage}": [swapped(field)]}, **SMALL)


def spoil(module, _cost):
    for array in module.sources.values():
        array.flags.writeable = True
        array *= 1.5
    return module


def rename(module, _cost):
    new = lw.ir.rebuild(module, lambda *_: False)
    new.sources = {name: 1.5 * array for name, array in new.sources.items()}
    return new


@lw.program
def scored(x: lw.Secret[8], w):
    return np.sum(w * x) * x


@pytest.mark.parametrize(("run", "message"), [
    (spoil, "pass p after vectors: changed the module that it was given"),
    (rename, "pass p after vectors: has constants under other names than"),
    (lambda *_: None, "pass p after vectors: returned NoneType; a pass returns a module"),
    (lambda *_: 1 // 0, "pass p after vectors: raised ZeroDivisionError: "),
])  # fmt: skip
def test_what_a_pass_does_beside_its_result_is_refused(run, message):
    weights = np.arange(8.0)
    with pytest.raises(IrError, match=message):
        lw.compile(
            scored, weights=(weights,), calibrate=ROWS, passes={"after vectors": [lw.ir.Pass("p", run)]}, **SMALL
        )


def test_a_pass_that_names_no_operation_is_refused():
    with pytest.raises(UserError, match="pass p: roots names 'vex.add', and no operation is called so"):
        compiled({"after vectors": [lw.ir.Pass("p", lambda m, _: m, roots=("vex.add",))]})


def test_a_stage_that_the_program_does_not_have_is_named():
    with pytest.raises(
        IrError, match="pass double after layouts: run has no such stage; its stages are traced, vectors"
    ):
        circuit(sum, passes={"after layouts": [DOUBLE]}, algorithm="scalar")


def test_passes_of_circuits_are_compared_exactly_on_integers():
    made = exact(lambda x: x[0] + x[0] + x[1] * x[2], passes={"after vectors": [DOUBLE]}, algorithm="scalar")
    plain = exact(lambda x: x[0] + x[0] + x[1] * x[2], algorithm="scalar")
    assert made.simulate([3, -2, 1, 0]) == plain.simulate([3, -2, 1, 0]) == 4
    bad = lw.ir.Pass("sloppy", replacing("vec.add", unrelated), writes=("vec.rotate",))
    with pytest.raises(IrError, match="pass sloppy after stage vectors: changes results: .* at most 0 is allowed"):
        exact(lambda x: x[0] + x[1] * x[2], passes={"after vectors": [bad]}, algorithm="scalar")


def negated_twice(builder, op, operands):
    product = builder.create(op.name, operands, dict(op.attrs)).result
    return builder.build("vec.neg", [builder.build("vec.neg", [product])])


def test_passes_of_a_loop_that_bootstraps_run_one_after_the_other():
    """On the chain that was chosen before: the second goes on from what the first made."""
    steps = [lw.ir.Pass(n, replacing("vec.mul", negated_twice), writes=("vec.neg", "vec.mul")) for n in ("one", "two")]
    made = loop(lambda y, x: 0.5 * y * x + 0.25, 3, passes={"after vectors": steps})
    plain = loop(lambda y, x: 0.5 * y * x + 0.25, 3)
    assert made.ir("vectors").count('"vec.neg"') == 4 * plain.ir("vectors").count('"vec.mul"') > 0
    assert made.plan.bootstraps and made.plan.chain == plain.plan.chain and len(made.plan.changes) == 2
    x = np.full(4, 0.5)
    assert np.allclose(made.simulate(x, 2), plain.simulate(x, 2), atol=1e-2)

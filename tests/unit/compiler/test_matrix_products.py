"""Products of public matrices and rows in slots: compiled, run on every backend, stored, and bounded."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.errors import FormatError
from latticework.plan.analysis.simulate import simulate
from latticework.plan.export.lift_plan import lift_plan
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.instructions.public_matrices import parts_of
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice
from latticework.values.packing.packed_constants import NumberMatrix

ROWS, SMALL = 512, {"ring_degree": 1024, "insecure": True}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (ROWS, 6))
FIRST, SECOND = RNG.uniform(-1, 1, (6, 5)), RNG.uniform(-1, 1, (5, 3))
APART = lw.Techniques(matrix_products=False)


@lw.program
def network(x: lw.Secret[6], first, second):
    return np.square(x @ first + 0.25) @ second


@lw.program
def power(x: lw.Secret[6], first, second):  # of a degree that ciphertexts do not keep
    return np.square(np.square(np.square(x @ first + 0.25))) @ second


def compiled(program=network, weights=(FIRST, SECOND), rows=X, **options):
    return lw.compile(program, weights=weights, calibrate=rows, batch=len(rows), **{**SMALL, **options})


def opcodes(model):
    return {instruction.op for _, _, instruction in model.plan.walk()}


@pytest.mark.parametrize(("program", "kinds"), [(network, set()), (power, {"relin"})])
def test_rows_in_slots_need_no_rotation_and_no_encoded_vector(program, kinds):
    model = compiled(program)
    assert "public_matmul" in opcodes(model) and not {"map_sums", "hoist", "rotate"} & opcodes(model)
    assert {key.kind for key in model.plan.keys} == kinds
    client = model.client()
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(X)))
    wanted = model.plaintext(X)
    assert np.abs(result.reveal() - wanted).max() <= result.error_bound < 0.05 * np.abs(wanted).max()
    assert "public_matmul" not in opcodes(compiled(techniques=APART))


def test_any_number_of_rows_is_filled_up_with_copies():
    model = compiled()
    client = model.client()
    rows = RNG.uniform(-1, 1, (ROWS + 7, 6))
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(rows)))
    np.testing.assert_allclose(result.reveal(), np.square(rows @ FIRST + 0.25) @ SECOND, atol=result.error_bound)


def test_every_device_and_number_of_threads_makes_the_same_bytes():
    model = compiled()
    client = model.client()
    keys, sent = client.keygen().public(), client.encrypt(X)
    found = {
        (str(device), threads): model.server(keys, device=device, threads=threads)(sent).to_bytes()
        for device in ("cpu", lw.Device("sim", arithmetic="fp64"), lw.Device("sim", arithmetic="u64"))
        for threads in (1, 2)
    }
    assert len(found) == 6 and len(set(found.values())) == 1


def test_a_file_keeps_the_matrix_and_no_vector_of_it():
    plan = compiled().plan
    again = read_plan(write_plan(plan))
    matrices = [c for c in again.constants if isinstance(c, NumberMatrix)]
    assert matrices == [c for c in plan.constants if isinstance(c, NumberMatrix)] and len(matrices) == 2
    np.testing.assert_array_equal(matrices[0].evaluate(again.sources), FIRST.T)
    moved = compiled(techniques=APART).plan
    rotated = next(c for c in moved.constants if not isinstance(c, NumberMatrix) and hasattr(c, "map"))
    shifted = replace(rotated.map, gather=replace(rotated.map.gather, domain=(1, 1, 1)))
    forged = tuple(NumberMatrix(shifted) if isinstance(c, NumberMatrix) else c for c in plan.constants)
    with pytest.raises(FormatError, match="altered"):
        read_plan(write_plan(replace(plan, constants=forged)))


def test_integers_of_several_parts_are_exact():
    """A matrix at a scale of 45 bits, against the same map with its numbers encoded as vectors."""
    exact, parts = (
        compiled(precision_bits=30, techniques=techniques).simulate(X[:1]) for techniques in (lw.Techniques(), APART)
    )
    np.testing.assert_allclose(exact, parts, atol=2.0**-28)
    assert parts_of(2.0**45) == 2 and parts_of(2.0**24) == parts_of(1.0) == 1
    fine = compiled(precision_bits=34)
    client = fine.client()
    found = client.decrypt(fine.server(client.keygen().public())(client.encrypt(X))).reveal()
    np.testing.assert_allclose(found, np.square(X @ FIRST + 0.25) @ SECOND, atol=2.0**-30)


def test_zero_rows_and_outputs_that_nothing_reads_into():
    first = FIRST.copy()
    first[:, 2] = 0.0
    first[3] = 0.0
    model = compiled(weights=(first, SECOND))
    client = model.client()
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(X)))
    np.testing.assert_allclose(result.reveal(), np.square(X @ first + 0.25) @ SECOND, atol=result.error_bound)


def test_bounds_hold_where_all_roundings_add_up():
    """Inputs whose signs are those of the roundings of one row, at the ends of what is accepted."""

    @lw.program
    def linear(x: lw.Secret[48], w):
        return x @ w

    weights = RNG.uniform(-1, 1, (48, 4))
    model = compiled(linear, (weights,), RNG.uniform(-1, 1, (ROWS, 48)), precision_bits=10)
    matrix = next(c for c in model.plan.constants if isinstance(c, NumberMatrix))
    result = next(i for _, _, i in model.plan.walk() if i.op == "public_matmul")
    scale = model.plan.kind(result.results[0]).scale / model.plan.kind(result.operands[0].register).scale
    off = matrix.integers(model.plan.sources, scale) / scale - matrix.evaluate(model.plan.sources)
    low, high = model.plan.client.secret_inputs[0].low, model.plan.client.secret_inputs[0].high
    rows = np.resize(np.where(off > 0, np.max(high), np.min(low)), (ROWS, 48))
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(rows)))
    error = np.abs(found.reveal() - rows @ weights).max()
    assert error <= found.error_bound and np.abs(off).sum(axis=1).max() < 8 * found.error_bound


def test_weights_are_multiples_of_a_step_where_a_rescale_hides_it():
    matrix = next(c for c in compiled().plan.constants if isinstance(c, NumberMatrix))
    choice = MatrixChoice(matrix, 1.0)
    assert choice.step(2.0**30, 1024, is_rescaled=True) == 2 * 1024 // matrix.shape[1]
    assert choice.step(2.0**16, 1024, is_rescaled=True) == 4 and choice.step(2.0**10, 1024, is_rescaled=True) == 1
    assert choice.step(2.0**30, 1024, is_rescaled=False) == 1


def test_numbers_too_large_for_their_scale_are_refused():
    with pytest.raises(lw.UserError):
        compiled(weights=(FIRST * 2.0**40, SECOND))


def test_noise_is_as_modelled():
    model = compiled(precision_bits=8)
    (exact,) = simulate(model.plan, [X])
    (noisy,) = simulate(model.plan, [X], noise=np.random.default_rng(1))
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(X))).reveal()
    drawn, real = np.std(noisy - exact), np.std(found - exact)
    assert 0.5 < real / drawn < 2


def test_other_libraries_get_the_sums():
    terms = [step.terms for step in lift_plan(compiled().plan).blocks[0].steps if step.op == "sums"]
    assert [len(each) for each in terms] == [FIRST.size, SECOND.size]
    numbers = np.zeros(FIRST.T.shape)
    for term in terms[0]:
        numbers[term.group, term.in_] = term.values.factor
    np.testing.assert_array_equal(numbers, FIRST.T)

"""Any number of rows, and stacks of inputs: results are NumPy's, and what cannot be cut into runs is refused."""

import numpy as np
import pytest

import latticework as lw
from latticework.errors import FormatError, ShapeError
from latticework.frontend import trace
from latticework.frontend.programs.batching import batch_of
from latticework.plan.files.serialise import read_client, write_client
from latticework.plan.schema.batch import Batch
from latticework.report import explain_file

SMALL = {"precision_bits": 10, "ring_degree": 2048, "insecure": True}
RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 2))


@lw.program
def score(x: lw.Secret[4, 3], w):
    return np.square(x @ w), x.T[:2]


@pytest.fixture(scope="module")
def model():
    return lw.compile(score, weights=(W,), calibrate=RNG.uniform(2, 3, (40, 3)), **SMALL)


@pytest.fixture(scope="module")
def parties(model):
    client = model.client(threads=1)
    return client, model.server(client.keygen().public(), threads=1)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 11])
def test_any_number_of_rows(model, parties, count):
    """Zero lies outside the accepted range, so zeros would be refused as padding."""
    client, server = parties
    rows = RNG.uniform(2, 3, (count, 3))
    encrypted = server.load_encrypted(client.encrypt(rows).to_bytes())
    scores, columns = client.decrypt(client.load_encrypted(server(encrypted).to_bytes()))
    assert scores.shape == (count, 2) and columns.shape == (2, count) and np.isfinite(scores.error_bound)
    assert np.abs(scores.reveal() - np.square(rows @ W)).max() <= scores.error_bound
    assert np.abs(columns.reveal() - rows.T[:2]).max() <= columns.error_bound
    for computed in (score(rows, W), model.plaintext(rows), model.simulate(rows)):
        assert np.allclose(computed[0], np.square(rows @ W), atol=1e-6) and np.allclose(computed[1], rows.T[:2])


def test_files_say_how_many_rows_they_hold(parties, tmp_path):
    client, _ = parties
    for given, told in (
        (5, "x (2 ciphertexts), 5 rows in 2 inputs (not encrypted)"),
        (1, "1 row in 1 input"),
        (4, None),
    ):
        client.encrypt(RNG.uniform(2, 3, (given, 3))).save(tmp_path / "x.lwct")
        text = explain_file(tmp_path / "x.lwct")
        assert told in text if told else "not encrypted" not in text


def test_one_run_is_debugged_at_a_time(model, parties):
    with pytest.raises(ShapeError, match="debug: 5 rows were given; give the inputs of one run"):
        model.debug(RNG.uniform(2, 3, (5, 3)), client=parties[0])


def test_stacks_of_whole_inputs(model, parties):
    client, server = parties
    stack = RNG.uniform(2, 3, (2, 4, 3))
    scores, columns = client.decrypt(server(client.encrypt(stack)))
    assert np.abs(scores.reveal() - np.square(stack @ W)).max() <= scores.error_bound
    assert columns.shape == (2, 2, 4)
    assert np.allclose(model.plaintext(stack)[0], np.square(stack @ W))


def test_progress_of_several_runs_counts_to_its_end(parties):
    client, server = parties
    events = []
    server(client.encrypt(RNG.uniform(2, 3, (9, 3))), on_event=events.append)
    assert events[-1].done == events[-1].total == 3 * len({e.done for e in events}) // 3
    assert [e.done for e in events] == sorted(e.done for e in events)


def test_all_inputs_that_hold_rows_have_as_many():
    @lw.program
    def weighted(x: lw.Secret[4, 3], y: lw.Secret[4], gain: lw.Secret[3]):
        return x * gain * y[:, None]

    model = lw.compile(weighted, **SMALL)
    assert model.plan.client.batch == Batch(
        4, ("x", "y"), (0,), (("gain", f"mul at test_batches.py:{weighted.loc.line + 1}"),)
    )
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    x, y, gain = RNG.uniform(-1, 1, (6, 3)), RNG.uniform(-1, 1, 6), RNG.uniform(-1, 1, 3)
    parts = client.encrypt_part(x=x, y=y), client.encrypt_part(gain=gain)
    assert [len(p.tensors) for p in parts] == [2, 1] and len(parts[1].tensors["gain"]) == 1
    got = client.decrypt(server(*parts))
    assert np.abs(got.reveal() - x * gain * y[:, None]).max() <= got.error_bound
    with pytest.raises(
        ShapeError, match="program weighted: x of shape .6, 3. is 6 rows, y of shape .5,. is 5 rows; give as"
    ):
        client.encrypt(x, y[:5], gain)
    with pytest.raises(ShapeError, match="x of shape .6, 3. is 6 rows, y of shape .4,. is 4 rows"):
        client.encrypt(x, y[:4], gain)
    with pytest.raises(
        ShapeError, match="part 1 of the encrypted inputs holds 6 rows and part 2 of .* 4 rows; encrypt as"
    ):
        server(client.encrypt_part(x=x), client.encrypt_part(y=y[:4]), parts[1])
    with pytest.raises(ShapeError, match=r"input gain has shape \(2,\).* apart from the others \(mul at test_batches"):
        client.encrypt(x, y, np.ones(2))


def test_rows_that_are_not_apart_are_refused():
    @lw.program
    def centred(x: lw.Secret[4, 3]):
        return x - x.mean(axis=0)

    client = lw.compile(centred, **SMALL).client(threads=1)
    with pytest.raises(ShapeError) as caught:
        client.encrypt(np.ones((3, 3)))
    assert caught.value.message.startswith(
        "program centred, input x has shape (3, 3), the program was compiled for (4, 3), and its rows cannot be padded or "
        "split: the program does not compute each of them alike and apart from the others "
        f"(sum at test_batches.py:{centred.loc.line + 1}); "
        "give 4 rows, a stack (runs, 4, 3) for several runs, or compile it for (3, 3)"
    )
    with pytest.raises(ShapeError, match=r"declared is \(4, 3\): give 4 at a time"):
        centred(np.ones((3, 3)))


def positional(x: lw.Secret[4, 3], w):
    return x * w


def reversed_rows(x: lw.Secret[4, 3], w):
    return x[::-1]


def running(x: lw.Secret[4, 3], w):
    return np.cumsum(x, axis=0)


def gram(x: lw.Secret[4, 3], w):
    return x @ x.T


def repeated(x: lw.Secret[4, 3], w):
    return np.concatenate([x, x])


def first(x: lw.Secret[4, 3], w):
    return x[0]


def framed(x: lw.Secret[4, 3], w):
    return x + np.pad(x[:3], ((1, 0), (0, 0)))


def carried(x: lw.Secret[4, 3], w):
    return lw.for_loop(3, lambda i, s: np.roll(s, 1, axis=0), x)


@pytest.mark.parametrize("function", [positional, reversed_rows, running, gram, repeated, first, framed, carried])
def test_nothing_is_called_rows_that_is_not(function):
    found = batch_of(trace(lw.program(function), (RNG.normal(size=(4, 3)),)))
    assert found is not None and found.inputs == () and found.reason("x")


def test_loops_that_start_from_public_numbers_keep_rows():
    @lw.program
    def total(x: lw.Secret[4, 3], n: lw.Index):
        return lw.for_loop(n, lambda i, s: 0.5 * s + x, np.zeros((4, 3)), at_most=3)

    assert batch_of(trace(total)) == Batch(4, ("x",), (0,))
    rows = RNG.normal(size=(6, 3))
    assert np.allclose(total(rows, 2), 1.5 * rows)


def test_a_circuit_takes_stacks_of_its_inputs():
    @lw.circuit
    def discount(
        member: lw.scalar(low=0, high=1), price: lw.vector(2, low=0, high=50), percent: lw.scalar(low=0, high=100)
    ):
        return {"paid": lw.select(member, (price[0] + price[1]) * (100 - percent), price[0] * 100)}

    model = lw.compile(discount, scheme="bfv", plain_bits=20, algorithm="scalar", ring_degree=2048, insecure=True)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    inputs = {"member": [1, 0, 1], "price": [[20, 10], [1, 2], [3, 4]], "percent": 15}
    expected = [discount(m, p, 15)["paid"] for m, p in zip(inputs["member"], inputs["price"], strict=True)]
    got = client.decrypt(server(client.encrypt(**inputs)))["paid"]
    assert got.reveal().tolist() == expected == model.plaintext(**inputs)["paid"].tolist()
    with pytest.raises(
        ShapeError, match="circuit discount: member is a stack of 3, price is a stack of 2; give as many"
    ):
        client.encrypt(**inputs | {"price": [[1, 2], [3, 4]]})


def test_calibration_takes_every_row_and_repeats_few(model):
    rows = RNG.uniform(0, 1, (6, 3))
    rows[5] = 5.0  # the last one is in the block that overlaps
    wide = lw.compile(score, weights=(W,), calibrate=rows, **SMALL)
    assert wide.plan.client.secret_inputs[0].high > 5.0 and wide.plan.client.batch.calibrated == 0
    few = lw.compile(score, weights=(W,), calibrate=rows[4:], **SMALL)
    assert few.plan.client.batch.calibrated == 2 and few.plan.client.secret_inputs[0].high > 5.0
    assert any(
        "Calibration had 2 rows, fewer than the 4 of a run: they were repeated." in n for n in few.report().notes
    )

    @lw.program
    def centred(x: lw.Secret[4, 3]):
        return x - x.mean(axis=0)

    with pytest.raises(
        ShapeError, match=r"have shape \(2, 3\).*fewer are not repeated, for the program does not compute ev"
    ):
        lw.compile(centred, calibrate=rows[:2], **SMALL)


def test_altered_numbers_of_rows_are_refused(model, parties):
    client, server = parties
    encrypted = client.encrypt(RNG.uniform(2, 3, (5, 3)))
    spec = model.plan.client
    assert read_client(write_client(spec)) == spec
    for change in ({"runs": 3}, {"rows": 9}):
        extent = type(encrypted.extent)(**{"runs": 2, "rows": 5} | change)
        altered = type(encrypted)(**{**vars(encrypted), "extent": extent})
        with pytest.raises(FormatError, match="said to hold . rows in . runs, which this program cannot have"):
            server(altered)
    short = type(encrypted)(**{**vars(encrypted), "tensors": {"x": encrypted.tensors["x"][:1]}})
    with pytest.raises(FormatError, match="said to be 5 rows in 2 runs, but x have no ciphertexts for so many"):
        server(short)
    endless = type(encrypted)(**{**vars(short), "extent": type(encrypted.extent)(1 << 60)})
    with pytest.raises(FormatError, match="a stack of .* runs, but they have no ciphertexts for so many"):
        server(endless)
    for batch in (Batch(5, ("x",), (0, 1)), Batch(4, ("z",), (0, 1)), Batch(4, ("x",), (0,)), Batch(4, ("x",), (1, 0))):
        with pytest.raises(FormatError, match="rows are no axis of the inputs and outputs"):
            read_client(write_client(type(spec)(**{**vars(spec), "batch": batch})))

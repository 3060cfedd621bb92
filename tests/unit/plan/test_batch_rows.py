"""compile(batch=): rows side by side in one run. Results are NumPy's row by row, and what cannot be is refused."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.errors import FormatError, LayoutError, LevelError, ShapeError, UserError
from latticework.plan.files.check_file import check_client, check_references
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan
from latticework.report.build import build_client_report
from latticework.values.packing.pack import PackDim, PackMap

SMALL = {"precision_bits": 10, "ring_degree": 2048, "insecure": True}
RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 2))


@lw.program
def score(x: lw.Secret[4, 3], w):
    return np.square(x @ w), x.T[:2]


@lw.program
def centred(x: lw.Secret[4, 3], gain: lw.Secret[3]):
    return (x - x.mean(axis=0)) * gain


@pytest.fixture(scope="module")
def model():
    return lw.compile(score, weights=(W,), calibrate=RNG.uniform(2, 3, (40, 3)), batch=4, **SMALL)


@pytest.fixture(scope="module")
def parties(model):
    client = model.client(threads=1)
    return client, model.server(client.keygen().public(), threads=1)


@pytest.mark.parametrize("count", [1, 4, 15, 16, 17, 35])
def test_a_run_takes_a_multiple_of_the_rows_of_the_program(model, parties, count):
    """Zero lies outside the accepted range, so zeros would be refused as padding."""
    client, server = parties
    rows = RNG.uniform(2, 3, (count, 3))
    encrypted = server.load_encrypted(client.encrypt(rows).to_bytes())
    assert len(encrypted.tensors["x"]) == -(-count // 16)
    scores, columns = client.decrypt(client.load_encrypted(server(encrypted).to_bytes()))
    assert scores.shape == (count, 2) and columns.shape == (2, count) and np.isfinite(scores.error_bound)
    assert np.abs(scores.reveal() - np.square(rows @ W)).max() <= scores.error_bound
    assert np.abs(columns.reveal() - rows.T[:2]).max() <= columns.error_bound
    for computed in (model.plaintext(rows), model.simulate(rows)):
        assert np.allclose(computed[0], np.square(rows @ W), atol=1e-6) and np.allclose(computed[1], rows.T[:2])


@pytest.mark.parametrize("count", [1, 4, 6])
def test_stacks_of_whole_inputs_share_runs(model, parties, count):
    client, server = parties
    stack = RNG.uniform(2, 3, (count, 4, 3))
    encrypted = client.encrypt(stack)
    assert len(encrypted.tensors["x"]) == -(-count // 4)
    scores, columns = client.decrypt(server(encrypted))
    assert scores.shape == (count, 4, 2) and columns.shape == (count, 2, 4)
    assert np.abs(scores.reveal() - np.square(stack @ W)).max() <= scores.error_bound
    assert np.allclose(model.plaintext(stack)[0], np.square(stack @ W))


def test_the_rows_of_a_program_that_mixes_its_own_are_stacks():
    model = lw.compile(centred, batch=3, **SMALL)
    assert model.plan.client.rows == 4
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    x, gain = RNG.uniform(-1, 1, (6, 4, 3)), RNG.uniform(-1, 1, 3)
    x[1] = 0
    want = (x - x.mean(axis=1, keepdims=True)) * gain
    parts = client.encrypt_part(x=x), client.encrypt_part(gain=gain)  # the same for all rows
    assert [len(part.tensors[name]) for part, name in zip(parts, ("x", "gain"), strict=True)] == [2, 1]
    for encrypted in (server(*parts), server(client.encrypt(x, gain)), server(client.encrypt(x, np.stack([gain] * 6)))):
        got = client.decrypt(encrypted)
        assert got.shape == (6, 4, 3) and np.abs(got.reveal() - want).max() <= got.error_bound
    with pytest.raises(ShapeError, match="x of shape .6, 4, 3. is a stack of 6, gain of shape .5, 3. is a stack of 5"):
        client.encrypt(x, np.stack([gain] * 5))


def test_one_row_is_the_program_as_declared():
    """Its copies fill the run, so that debugging sees what it would see of one."""
    model = lw.compile(centred, batch=4, **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    x, gain = RNG.uniform(-1, 1, (4, 3)), RNG.uniform(-1, 1, 3)
    got = client.decrypt(server(client.encrypt(x, gain)))
    assert np.abs(got.reveal() - centred(x, gain)).max() <= got.error_bound
    report = model.debug(x, gain, client=client)
    assert report.first_off is None and report.rows[-1].shape == (4, 3)
    assert lw.load is not None and [r.shape for r in report.rows[:1]] == [(4, 3)]


def test_results_go_on_as_inputs_row_by_row():
    @lw.program
    def step(x: lw.Secret[3], w: lw.Secret[3]):
        return w + x

    data = RNG.uniform(-1, 1, (20, 3)), RNG.uniform(-1, 1, (20, 3))
    model = lw.compile(step, calibrate=data, feed={"w": "result"}, feed_runs=3, batch=8, **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    x, w = RNG.uniform(-1, 1, (2, 5, 3))
    sent = client.encrypt_part(x=x)
    found = server(sent, client.encrypt_part(w=w))
    found = server(server.inputs(sent, w=found))
    got = client.decrypt(found)
    assert np.abs(got.reveal() - (w + 2 * x)).max() <= got.error_bound < 1e-2


def test_scaled_columns_are_those_of_every_row():
    @lw.program
    def linear(x: lw.Secret[3]):
        return x @ W + 1.0

    scales = np.array([1.0, 1000.0, 1e-3])
    data = RNG.uniform(0, 1, (30, 3)) * scales
    model = lw.compile(linear, calibrate=data, scale_columns=True, batch=8, **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    got = client.decrypt(server(client.encrypt(data)))
    assert got.shape == (30, 2) and np.abs(got.reveal() - (data @ W + 1.0)).max() <= got.error_bound


def test_fill_takes_all_slots_of_a_ring():
    @lw.program
    def squared(x: lw.Secret[5]):
        return x * x

    one, model = (lw.compile(squared, batch=batch) for batch in (None, "fill"))
    assert model.plan.chain.ring_degree <= 2 * one.plan.chain.ring_degree  # a bit of scale may take the next one
    assert model.plan.client.rows * 8 == model.plan.chain.slots
    assert [i.op for _, _, i in one.plan.walk()] == ["square", "key", "relinearize", "yield"]
    assert [i.op for _, _, i in model.plan.walk()] == ["square", "yield"]  # rows are sent as they are, without keys


@pytest.mark.parametrize(("batch", "vectors"), [(64, 1), (128, 2), (1024, 12)])
def test_many_rows_take_narrower_vectors_before_a_larger_ring(batch, vectors):
    """12 numbers of a row, on 1024 slots in all, are up to a vector each."""
    model = lw.compile(centred, batch=batch, **SMALL)
    spec = model.plan.client
    assert (spec.rows, spec.inputs[0].pack.slots, spec.inputs[0].pack.count) == (batch, 1024, vectors)
    client = model.client(threads=1)
    x, gain = RNG.uniform(-1, 1, (batch + 1, 4, 3)), RNG.uniform(-1, 1, 3)
    got = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(x, gain)))
    want = (x - x.mean(axis=1, keepdims=True)) * gain
    assert got.shape == want.shape and np.abs(got.reveal() - want).max() <= got.error_bound


def test_a_row_that_is_too_large_leaves_none_of_its_run_with_a_bound(model, parties):
    """Its coefficients are shared by all rows of the run."""
    client, _ = parties
    output = model.plan.client.outputs[0]
    vectors = output.pack.pack(np.concatenate([np.full((1, *output.shape), 1e9), np.ones((3, *output.shape))]))
    assert client._coding.value(output, vectors[None], 4).error_bound == np.inf
    assert client._coding.value(output, vectors[None] * 1e-9, 4).error_bound == output.error_bound


def test_files_hold_how_many_rows_a_run_takes(model, parties, tmp_path):
    write_plan(model.plan, tmp_path / "p.lwplan")
    write_client(model.plan.client, tmp_path / "c.lwclient")
    assert read_plan(tmp_path / "p.lwplan").client.rows == 4 == read_client(tmp_path / "c.lwclient").rows
    rows = RNG.uniform(2, 3, (20, 3))
    loaded = lw.load(tmp_path / "p.lwplan", allow_insecure=True)
    assert np.allclose(loaded.plaintext(rows)[0], np.square(rows @ W))
    report = loaded.debug(rows[:4], client=parties[0])
    assert report.first_off is None


@pytest.mark.parametrize("field", ["inputs", "outputs"])
def test_files_whose_tensors_are_of_other_rows_are_refused(model, field):
    spec = model.plan.client
    first, *rest = getattr(spec, field)
    for changed in (replace(first, shape=first.pack.shape), replace(first, shape=(5, *first.shape[1:]))):
        with pytest.raises(FormatError, match=r"does not fit its packing|is packed as"):
            check_client(replace(spec, **{field: (changed, *rest)}))
    with pytest.raises(FormatError):
        check_client(replace(spec, inputs=(replace(spec.inputs[0], pack=one_row().inputs[0].pack),)))
    tensor = replace(model.plan.tensors[0], pack=PackMap((5,), 1024, (PackDim(0, 8),)))
    with pytest.raises(FormatError, match="not packed in 4 rows"):
        check_references(replace(model.plan, tensors=(tensor, *model.plan.tensors[1:])))


def one_row():
    return lw.compile(score, weights=(W,), calibrate=RNG.uniform(2, 3, (40, 3)), **SMALL).plan.client


def test_too_few_ciphertexts_for_the_rows_are_refused(parties):
    client, server = parties
    encrypted = client.encrypt(RNG.uniform(2, 3, (20, 3)))
    short = replace(encrypted, tensors={"x": encrypted.tensors["x"][:1]})
    with pytest.raises(FormatError, match="have no ciphertexts for so many"):
        server(short)


@pytest.mark.parametrize("batch", [0, -1, True, 2.0, "all", 1 << 20])
def test_what_is_no_number_of_rows_is_refused(batch):
    with pytest.raises(UserError, match="give how many rows one run computes, from 1 to 65536, or 'fill'"):
        lw.compile(centred, batch=batch, **SMALL)


def test_batches_that_no_run_can_take_are_refused_with_numbers():
    with pytest.raises(
        LayoutError,
        match="a row of centred takes 1 slot, 2048 rows 2048; ring_degree=2048 has 1024: give batch=1024 or less",
    ):
        lw.compile(centred, batch=2000, **SMALL)

    @lw.program
    def wide(x: lw.Secret[1024]):
        return x * x

    with pytest.raises(
        LayoutError,
        match=r"takes all 1024 slots of its ring, N=2048 and [\d.]+ ms a row \(predicted\): leave batch= out$",
    ):
        lw.compile(wide, batch="fill", **SMALL)

    @lw.program
    def long(x: lw.Secret[4096]):
        return x * x + x

    with pytest.raises(
        LayoutError, match=r"N=8192 and .* ms a row .*: leave batch= out, or give batch=2, which is N=16384"
    ):
        lw.compile(long, batch="fill")

    @lw.program
    def deep(x: lw.Secret[4]):
        return lw.for_loop(9, lambda _i, h: 0.5 * h * h + 0.25, x)

    with pytest.raises(LevelError, match="ring_degree=8192 is too small to bootstrap"):
        lw.compile(deep, batch=2, ring_degree=8192)
    with pytest.raises(LayoutError, match=r"a row of deep takes 4 slots where it is .* 1024: give batch=256 or less"):
        lw.compile(deep, batch=2048, bootstrap_set="T11", insecure=True, precision_bits=8)


@lw.circuit
def dot(x: lw.vector(4, low=-3, high=3), y: lw.vector(4, low=-3, high=3)):
    return sum(x[i] * y[i] for i in range(4)), x[0] - y[3]


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_rows_of_a_circuit_are_stacks(scheme):
    options = {"ring_degree": 4096, "insecure": True, "effort": "fast", "scheme": scheme}
    model = lw.compile(dot, batch=100, **options)
    assert model.plan.client.rows == 128 and model.plan.client.outputs[0].pack.slots == model.plan.chain.slots
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    x, y = RNG.integers(-3, 4, (2, 150, 4))
    encrypted = client.encrypt(x, y)
    assert max(len(array) for array in encrypted.tensors.values()) == 2
    first, second = client.decrypt(server(encrypted))
    assert np.abs(first.reveal() - (x * y).sum(axis=1)).max() <= first.error_bound
    assert np.abs(second.reveal() - (x[:, 0] - y[:, 3])).max() <= second.error_bound
    shared, _ = client.decrypt(server(client.encrypt(x, y[0])))
    assert np.abs(shared.reveal() - x @ y[0]).max() <= shared.error_bound
    one = model.debug(x[0], y[0], client=client)
    assert one.first_off is None
    with pytest.raises(LayoutError, match="dot was compiled with batch=128, which interleaves"):
        model.lanes("result0")
    with pytest.raises(UserError, match="batch= is given, and circuit dot shares"):
        lw.compile(dot, batch=2, spare_levels=1, **options)


def test_reports_tell_what_a_row_takes(model):
    report = model.report()
    costs = model.costs()
    assert report.row.count == 16 and report.row.seconds == costs.later_run_seconds / 16
    assert report.row.input_bytes * 16 == costs.client.input_bytes
    text = str(report)
    assert "1 of 16 rows" in text and "A run computes up to 4 inputs side by side" in text
    assert "x may have any number of rows: they are computed 16 in a run" in " ".join(text.split())
    assert "1 of 16 rows in a run" in report._repr_html_()
    assert build_client_report(model.plan.client).row.seconds is None
    assert build_client_report(one_row()).row is None


def test_imported_models_take_batches_with_what_their_owner_computes():
    linear_model, preprocessing, pipeline = (
        pytest.importorskip(f"sklearn.{name}") for name in ("linear_model", "preprocessing", "pipeline")
    )
    x = RNG.normal(size=(60, 5)) * [1, 10, 0.1, 1, 1]
    y = (x[:, 0] + x[:, 1] / 10 > 0).astype(int)
    fitted = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()).fit(x, y)
    model = lw.compile(lw.from_sklearn(fitted, "predict_proba"), calibrate=x, batch="fill", **SMALL)
    assert model.plan.client.owner is not None and model.plan.client.rows == 128
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    encrypted = client.encrypt(x)
    assert [len(array) for array in encrypted.tensors.values()] == [1]
    got = client.decrypt(server(encrypted))
    assert np.abs(got.reveal() - fitted.predict_proba(x)).max() <= got.error_bound < 0.1


def test_modules_of_pytorch_take_batches():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)).double()
    x = RNG.normal(size=(20, 4))
    program = lw.from_torch(network, torch.zeros(1, 4, dtype=torch.float64))
    model = lw.compile(program, calibrate=x, precision_bits=7, batch=16, ring_degree=4096, insecure=True)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    encrypted = client.encrypt(x)
    assert [len(array) for array in encrypted.tensors.values()] == [2]
    got = client.decrypt(server(encrypted))
    assert np.abs(got.reveal() - network(torch.tensor(x)).detach().numpy()).max() <= got.error_bound < 0.1

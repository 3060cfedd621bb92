"""Rows outside of accepted ranges: all of them told, clipped or left out, and marked in results. NumPy is the oracle."""

import json
import stat

import numpy as np
import pytest

import latticework as lw
from latticework import _core
from latticework.errors import FormatError, ParameterMismatchError, RangeError
from latticework.plan.client_steps import (
    Affine,
    Columns,
    Extreme,
    Finished,
    Given,
    Labels,
    OneHot,
    OwnerArray,
    OwnerStages,
    Piece,
    Prepared,
    Reshape,
)
from latticework.runtime.client import input_inspection
from latticework.runtime.exchange.clipped import ClippedRows
from latticework.runtime.exchange.input_errors import Misfits

SMALL = {"ring_degree": 2048, "insecure": True, "progress": False, "precision_bits": 8}
RNG = np.random.default_rng(0)
DATA = RNG.uniform(-1, 1, (60, 3))
WEIGHTS = RNG.normal(size=(3, 2))
PRIVATE = 98765.4321


@lw.program
def scores(x: lw.Secret[4, 3]):
    return x @ WEIGHTS


@lw.circuit
def total(x: lw.vector(3, low=-9, high=9), y: lw.scalar(low=0, high=4)):
    return x.sum() + y


def outside_rows():
    """Nine rows, of which 1, 4 and 8 are outside in columns 0, 2 and 0, 2."""
    rows = RNG.uniform(-1, 1, (9, 3))
    rows[1, 0], rows[4, 2], rows[8, 0], rows[8, 2] = PRIVATE, -7.5, -PRIVATE, 3.0
    return rows


ROWS = outside_rows()
OUT = (1, 4, 8)


@pytest.fixture(scope="module")
def model():
    after = (Finished("score", "result"), Finished("kind", "result", (Extreme(Labels.of(["no", "yes"])),)))
    return lw.compile(scores, calibrate=DATA, owner=OwnerStages(after=after), **SMALL)


@pytest.fixture(scope="module")
def session(model):
    client = model.client(threads=1)
    return client, model.server(client.keygen().public(), threads=1)


def clipped_oracle(model):
    (given,) = model.plan.client.inputs
    return np.clip(ROWS, given.low, given.high)


def test_all_rows_and_columns_are_told(model, session):
    check = session[0].check(ROWS)
    (given,) = model.plan.client.inputs
    where = np.argwhere((given.low > ROWS) | (given.high < ROWS))
    assert [(each.row, each.column) for each in check.findings] == [tuple(place) for place in where.tolist()]
    assert all((each.low, each.high, each.input) == (given.low, given.high, "x") for each in check.findings)
    assert (check.rows, check.count, check.columns, check.num_outside) == (OUT, 9, {0: 2, 2: 2}, 4)
    assert not check.fits and session[0].check(ROWS[:1]).fits
    told = repr(check) + str(check) + repr(check.clipped()) + repr(check.kept()) + repr(check.findings)
    assert "98765" not in told and "7.5" not in told and "row 8, column 2 is outside" in told
    for door in (session[0].encrypt, lambda x: session[0].encrypt(session[0].check(x))):
        with pytest.raises(RangeError, match=r"row 1, column 0 is outside .*and 3 more values are not taken"):
            door(ROWS)


def test_clipped_rows_are_computed_and_marked(model, session):
    client, server = session
    clipped = client.check(ROWS).clipped()
    found = client.decrypt(server(client.encrypt(clipped)))
    wanted = clipped_oracle(model) @ WEIGHTS
    score, kind = found["score"], found["kind"]
    assert np.abs(score.reveal() - wanted).max() < 0.1
    others = np.setdiff1d(np.arange(9), OUT)
    for value in (score, kind):
        assert value.is_certain.shape == value.shape
        assert not value.is_certain[list(OUT)].any() and np.isinf(value.error_bounds[list(OUT)]).all()
        assert np.isinf(value.error_bound) and "rows 1, 4, 8 were CLIPPED" in value.doubt() and "CLIPPED" in repr(value)
    assert score.is_certain[others].all()
    assert (np.abs(score.reveal() - wanted) <= score.error_bounds).all() and np.isfinite(
        score.error_bounds[others]
    ).all()
    plain = np.ravel(model.plaintext(clipped)[0]).reshape(9, 2)
    np.testing.assert_allclose(plain, wanted, atol=1e-6)
    np.testing.assert_allclose(np.reshape(model.simulate(clipped)[0], (9, 2)), wanted, atol=1e-6)


def test_kept_rows_are_certain(session):
    client, server = session
    kept = client.check(ROWS).kept()
    assert kept.rows == (0, 2, 3, 5, 6, 7)
    request = client.encrypt(kept)
    assert request.clipped == ()
    found = client.decrypt(server(request))["score"]
    assert found.is_certain.all() and np.isfinite(found.error_bound)
    assert (np.abs(found.reveal() - ROWS[list(kept.rows)] @ WEIGHTS) <= found.error_bound).all()


def test_what_fits_is_encrypted_as_ever(session):
    client, server = session
    for chosen in (client.check(DATA[:4]), client.check(DATA[:4]).kept(), client.check(DATA[:4]).clipped()):
        found = client.decrypt(server(client.encrypt(chosen)))["score"]
        assert found.is_certain.all() and np.isfinite(found.error_bound) and "CLIPPED" not in found.doubt()


def test_the_server_does_not_learn_which_rows(session):
    client, server = session
    one, other = (client.encrypt(client.check(rows).clipped()) for rows in (ROWS, DATA[:9]))
    assert len(one.clipped) == len(other.clipped) == 1 and len(one.to_bytes()) == len(other.to_bytes())
    again = server.load_encrypted(one.to_bytes())
    assert server(again).clipped == one.clipped and again.clipped == one.clipped
    assert b"CLIPPED" not in one.to_bytes() and client.encrypt(DATA[:4]).clipped == ()


def test_lost_records_mark_all_rows(model, session, tmp_path):
    client, server = session
    clipped = client.check(ROWS).clipped()
    result = server(client.encrypt(clipped)).to_bytes()
    other = model.client(threads=1)
    other.use_secret_key(client._secret)
    lost = other.decrypt(other.load_encrypted(result))["score"]
    assert not lost.is_certain.any() and "record of which is not here" in lost.doubt() and np.isinf(lost.error_bound)
    clipped.clipped.save(tmp_path / "rows.json")
    other.load_clipped(tmp_path / "rows.json")
    assert np.flatnonzero(~other.decrypt(other.load_encrypted(result))["score"].is_certain[:, 0]).tolist() == list(OUT)


def test_records_lie_beside_the_secret_key(model, tmp_path):
    client = model.client(threads=1)
    keys = client.keygen(tmp_path / "keys")
    server = model.server(keys.public(), threads=1)
    result = server(client.encrypt(client.check(ROWS).clipped())).to_bytes()
    (path,) = (tmp_path / "keys" / "clipped").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and json.loads(path.read_text())["clipped"] == list(OUT)
    other = model.client(threads=1)
    other.load_keys(tmp_path / "keys")
    found = other.decrypt(other.load_encrypted(result))["kind"]
    assert not found.is_certain[list(OUT)].any() and "rows 1, 4, 8" in found.doubt()
    for text in (
        "",
        "[]",
        path.read_text().replace("[1, 4, 8]", "[9]"),
        path.read_text().replace('"count": 9', '"count": 0'),
    ):
        path.write_text(text)
        third = model.client(threads=1)
        third.load_keys(tmp_path / "keys")
        with pytest.raises(FormatError, match="no record of clipped rows"):
            third.decrypt(third.load_encrypted(result))
    path.write_text(
        json.dumps({"kind": "rows that were clipped before encryption", "number": "00" * 16, "count": 9, "clipped": []})
    )
    with pytest.raises(FormatError, match="exchanged"):
        third.decrypt(third.load_encrypted(result))


def test_what_no_range_mends_can_be_left_out(session):
    client, server = session
    rows = ROWS.copy()
    rows[2, 1] = np.nan
    check = client.check(rows)
    assert check.rows == (1, 2, 4, 8)
    with pytest.raises(RangeError, match=r"row 2, column 1 is NaN or infinite.*kept\(\) leaves such rows out"):
        check.clipped()
    assert client.decrypt(server(client.encrypt(check.kept())))["score"].shape == (5, 2)
    with pytest.raises(RangeError, match="No row is left to keep"):
        client.check(rows[[1, 2]]).kept()


def test_categories_that_are_unknown():
    stages = OwnerStages(
        (Given("plant", (1, 2), ("soil", "height")),),
        (
            Prepared(
                "x",
                (
                    Piece("plant", (Columns(-1, 2, (0,)), OneHot(Labels.of(["dry", "wet"])), Reshape((1, 2), (2,)))),
                    Piece("plant", (Columns(-1, 2, (1,)), Affine(OwnerArray.of([1.0]), OwnerArray.of([0.0])))),
                ),
            ),
        ),
    )

    @lw.program
    def plants(x: lw.Secret[1, 3]):
        return x @ WEIGHTS

    rows = np.array([["dry", 0.5], ["wet", 0.1], ["bog", 0.2], ["wet", 9.0], ["bog", 0.3]], dtype=object)
    client = lw.compile(plants, owner=stages, calibrate=rows[:2], **SMALL).client(threads=1)
    check = client.check(rows)
    assert check.rows == (2, 3, 4)
    assert [(each.row, each.name) for each in check.findings] == [(2, "soil"), (4, "soil"), (3, "height")]
    assert [each.can_clip for each in check.findings] == [False, False, True]
    assert check.kept().rows == (0, 1) and "bog" not in str(check)


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_stacks_of_circuits(scheme):
    model = lw.compile(total, scheme=scheme, ring_degree=2048, insecure=True, progress=False)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    x, y = np.array([[1, 2, 3], [40, 5, -60], [7, 8, 9]]), np.array([1, 2, 70])
    check = client.check(x, y)
    assert check.rows == (1, 2) and [(e.input, e.row, e.column) for e in check.findings] == [
        ("x", 1, 0), ("x", 1, 2), ("y", 2, None),
    ]  # fmt: skip
    found = client.decrypt(server(client.encrypt(check.clipped())))
    wanted = np.clip(x, -9, 9).sum(1) + np.clip(y, 0, 4)
    np.testing.assert_allclose(found.reveal(), wanted, atol=0.3)
    assert found.is_certain.tolist() == [True, False, False]
    kept = client.decrypt(server(client.encrypt(check.kept())))
    assert np.abs(kept.reveal() - 7).max() < 0.3 and kept.is_certain.all()
    one = client.decrypt(server(client.encrypt(client.check(x[1], 3).clipped())))
    assert not one.is_certain.any() and "of all of it were CLIPPED" in one.doubt()


def test_parts_and_shared_inputs():
    @lw.program
    def shifted(x: lw.Secret[4, 3], y: lw.Secret[3]):
        return x + y

    model = lw.compile(shifted, calibrate=(DATA, DATA[:1, :]), **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    rows = client.encrypt(client.check_part(x=ROWS).clipped())
    fitting = client.encrypt_part(y=DATA[0])
    found = client.decrypt(server(rows, fitting))
    assert np.flatnonzero(~found.is_certain[:, 0]).tolist() == list(OUT)
    shared = client.encrypt(client.check_part(y=[0, 50.0, 0]).clipped())
    assert not client.decrypt(server(client.encrypt_part(x=DATA[:9]), shared)).is_certain.any()


def test_declared_batches_without_an_extent(session):
    client, server = session
    found = client.decrypt(server(client.encrypt(client.check(ROWS[:4]).clipped())))
    assert np.flatnonzero(~found["kind"].is_certain).tolist() == [1]
    assert client.encrypt(client.check(ROWS[:4]).kept()).extent.rows == 3


def test_constraints_beside_ranges(session, monkeypatch):
    """A constraint on a sum of columns: what would be encrypted, once clipped, has to meet it."""

    def sums(spec, arrays):
        where = arrays["x"].sum(axis=-1) > 1.5
        if where.any():
            yield Misfits("x", where, spec.secret_inputs[0].shape, True, "has a sum outside", "leave it out",
                          low=-9.0, high=1.5, can_clip=False, by_rows=True)  # fmt: skip

    monkeypatch.setattr(input_inspection, "sums_beyond", sums)
    rows = np.array([[0.5, 0.25, 0.25], [0.9, 0.9, 0.9], [5.0, -0.9, -0.9], [5.0, 0.9, 0.9]])
    client, _ = session
    check = client.check(rows)
    assert check.rows == (1, 2, 3) and check.kept().rows == (0,)
    assert [str(each) for each in check.findings if not each.can_clip] == [
        "input x, row 1 has a sum outside -9 to 1.5", "input x, row 3 has a sum outside -9 to 1.5",
    ]  # fmt: skip
    with pytest.raises(RangeError, match=r"row 1 has a sum outside -9 to 1.5 \(and 1 more"):
        check.clipped()
    assert client.check(rows[[0, 2]]).clipped().clipped.clipped == (1,)


def test_inputs_of_another_compilation_are_refused(session):
    other = lw.compile(scores, calibrate=2 * DATA, **SMALL).client(threads=1)
    with pytest.raises(ParameterMismatchError, match="another compilation"):
        session[0].encrypt(other.check(DATA[:4]))


def test_numbers_of_clipped_rows_in_files_are_checked(session, tmp_path):
    from dataclasses import replace

    client, _ = session
    request = client.encrypt(client.check(ROWS).clipped())
    header = _core.ContainerReader(request.to_bytes(), kinds=[int(_core.FileKind.CIPHERTEXTS)]).header
    assert header["extras"]["role"] == "inputs with clipped rows"  # which earlier builds refuse
    with pytest.raises(FormatError, match="numbers of clipped rows"):
        client.load_encrypted(replace(request, clipped=(b"short",)).to_bytes())
    assert ClippedRows.of(3, None).clipped is None


def test_the_command_line_clips_and_keeps(tmp_path, monkeypatch, model):
    from typer.testing import CliRunner

    from latticework import cli

    def call(*words, status=0):
        done = CliRunner().invoke(cli.app, list(map(str, words)))
        assert done.exit_code == status, done.output
        assert "98765" not in done.output
        return done.output

    monkeypatch.chdir(tmp_path)
    model.save("model.lwplan")
    model.client().save("model.lwclient")
    np.save("x.npy", ROWS)
    call("keygen", "model.lwclient", "--insecure")
    server = tmp_path / "server"
    server.mkdir()
    (tmp_path / "keys" / "evaluation.lwkeys").rename(server / "evaluation.lwkeys")
    start = ("encrypt", "model.lwclient", "x.npy", "--insecure")
    assert "--clip brings values" in call(*start, status=1)
    assert "give one of them" in call(*start, "--clip", "--keep", status=1)
    told = json.loads(call(*start, "--clip", "--json"))
    assert told["clipped_rows"] == list(OUT) and len(told["findings"]) == 4
    call("run", "model.lwplan", "inputs.lwct", "-k", server, "-o", "out.lwct")
    found = json.loads(call("decrypt", "model.lwclient", "out.lwct", "--insecure", "--json"))
    assert "rows 1, 4, 8 were CLIPPED" in str(found["warnings"])
    assert [row for row, sure in enumerate(found["outputs"]["score"]["certain"]) if not all(sure)] == list(OUT)
    assert "left out: 9 rows" in call(*start, "--keep", "-o", "kept.lwct")
    # who encrypts with the public key hands the record over
    (tmp_path / "public").mkdir()
    (tmp_path / "keys" / "public.lwkey").rename(tmp_path / "public" / "public.lwkey")
    with_public = (*start, "--clip", "-k", "public", "-o", "theirs.lwct")
    assert "--record FILE" in call(*with_public, status=1)
    call(*with_public, "--record", "rows.json")
    call("run", "model.lwplan", "theirs.lwct", "-k", server, "-o", "theirs-out.lwct")
    back = ("decrypt", "model.lwclient", "theirs-out.lwct", "--insecure", "--json")
    assert "record of which is not here" in str(json.loads(call(*back))["warnings"])
    assert "rows 1, 4, 8" in str(json.loads(call(*back, "--record", "rows.json"))["warnings"])
    assert "rows outside, by the client" in call("explain", "theirs.lwct")

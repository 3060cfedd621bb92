"""Sparse rows of SciPy are data: every way in gives what the same rows give as an array; as weights they are refused."""

import numpy as np
import pytest

import latticework as lw
from latticework.commands.array_files import read_arrays, read_values
from latticework.errors import BudgetError, FormatError, UserError
from latticework.values.inputs import foreign_arrays

sparse = pytest.importorskip("scipy.sparse")

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (6, 4)) * (RNG.random((6, 4)) < 0.5)
WEIGHTS = RNG.uniform(-1, 1, (4, 2))
SMALL = {"ring_degree": 1024, "insecure": True}
FORMS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix]


@lw.program
def linear(x: lw.Secret[2, 4], w):
    return x @ w


@lw.circuit
def total(x: lw.vector(4, low=-8, high=8)):
    return x[0] + 2 * x[1] + 3 * x[2] * x[3]


@pytest.fixture(scope="module")
def model():
    return lw.compile(linear, weights=(WEIGHTS,), calibrate=sparse.csr_matrix(ROWS), **SMALL)


@pytest.mark.parametrize("make", FORMS)
def test_every_way_in_takes_them_as_it_takes_the_array(model, make):
    rows, client = make(ROWS), model.client()
    np.testing.assert_array_equal(linear(rows, WEIGHTS), linear(ROWS, WEIGHTS))
    np.testing.assert_array_equal(client.checked((rows,), {}).values["x"], client.checked((ROWS,), {}).values["x"])
    np.testing.assert_array_equal(client.checked((), {"x": rows}).values["x"], client.checked((ROWS,), {}).values["x"])
    assert client.check(make(3 * ROWS)).rows == client.check(3 * ROWS).rows != ()
    for ask in (model.plaintext, model.simulate):
        np.testing.assert_array_equal(ask(rows), ask(ROWS))


def test_a_list_of_sparse_rows_is_a_stack(model):
    rows = [sparse.csr_matrix(ROWS[:2]), sparse.csr_matrix(ROWS[2:4])]
    np.testing.assert_array_equal(model.plaintext(rows), model.plaintext([ROWS[:2], ROWS[2:4]]))


def test_encrypted_results_accuracy_and_debugging(model):
    rows, client = sparse.csr_matrix(ROWS), model.client()
    server = model.server(client.keygen().public())
    found = client.decrypt(server(client.encrypt(rows))).reveal()
    np.testing.assert_allclose(found, ROWS @ WEIGHTS, atol=1e-3)
    assert len(model.debug(rows[:2], client=client).rows) == len(model.debug(ROWS[:2], client=client).rows)
    report = lw.compile(lw.from_sklearn(fitted(), "predict_proba"), calibrate=rows, **SMALL).accuracy(
        rows, [0, 1] * 3, encrypted=2, progress=False
    )
    assert report.rows == 6


def fitted():
    """A logistic regression that was fitted on sparse rows."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression().fit(sparse.csr_matrix(ROWS), [0, 1] * 3)


def test_owners_steps_come_after_them():
    program = lw.from_sklearn(fitted(), "predict")
    np.testing.assert_array_equal(program(sparse.csr_matrix(ROWS)), fitted().predict(ROWS))
    model = lw.compile(program, calibrate=sparse.coo_array(ROWS), **SMALL)
    np.testing.assert_array_equal(np.ravel(model.plaintext(sparse.csc_array(ROWS))), fitted().predict(ROWS))


def test_circuits_take_them():
    row = sparse.coo_array(np.array([1, 0, 2, 3]))
    assert total(row) == total([1, 0, 2, 3]) == 19
    model = lw.compile(total, scheme="bfv", plain_bits=16, ring_degree=2048, insecure=True)
    assert model.client().check(row).fits
    assert model.simulate(row) == 19


def test_as_weights_they_are_refused_as_ever(model):
    with pytest.raises(UserError, match=r"weight w is a csr_matrix, whose \* is a product of matrices; give value.toa"):
        lw.compile(linear, weights=(sparse.csr_matrix(WEIGHTS),), calibrate=ROWS, **SMALL)


def test_values_that_are_no_numbers_are_found_in_them_too(model):
    with pytest.raises(UserError, match="NaN"):
        model.client().checked((sparse.csr_matrix(np.where(ROWS, ROWS, 0) + [[np.nan, 0, 0, 0]] * 6),), {})


def test_what_has_no_room_as_an_array_is_refused_with_its_size(model, monkeypatch):
    wide = sparse.csr_matrix((1_000_000, 200_000))
    words = r"csr_matrix that takes 1.60 TB as an array \(1000000 x 200000 numbers x 8 bytes\).*fewer rows at a time"
    for ask in (lambda: model.client().check(wide), lambda: linear(wide, WEIGHTS), lambda: model.simulate(wide)):
        with pytest.raises(BudgetError, match=words):
            ask()
    with pytest.raises(BudgetError, match=rf"calibrate: x is a {words}"):
        lw.compile(linear, weights=(WEIGHTS,), calibrate=wide, **SMALL)
    monkeypatch.setattr(foreign_arrays, "free_bytes", lambda: 2 * ROWS.nbytes - 1)
    with pytest.raises(BudgetError, match="6 x 4 numbers x 8 bytes"):
        model.simulate(sparse.csr_matrix(ROWS))


@pytest.mark.parametrize("make", [*FORMS[:4], lambda a: sparse.csr_matrix(a > 0), lambda a: sparse.coo_array(3 * a)])
@pytest.mark.parametrize("compressed", [False, True])
def test_files_of_save_npz_are_read_as_scipy_reads_them(make, compressed, tmp_path):
    rows = make(ROWS)
    sparse.save_npz(tmp_path / "rows.npz", rows, compressed=compressed)
    found = read_values(tmp_path / "rows.npz")
    np.testing.assert_array_equal(found, rows.toarray())
    assert found.dtype == rows.dtype


def test_elements_that_stand_twice_add_up(tmp_path):
    rows = sparse.coo_matrix(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    sparse.save_npz(tmp_path / "rows.npz", rows)
    np.testing.assert_array_equal(read_values(tmp_path / "rows.npz"), [[0, 3], [4, 0]])


def test_files_of_weights_are_not_read_as_sparse(tmp_path):
    sparse.save_npz(tmp_path / "w.npz", sparse.csr_matrix(WEIGHTS))
    assert "indptr" in read_arrays(tmp_path / "w.npz")


def altered(**changed):
    """The arrays of a sparse matrix in rows, with some of them changed, or left out."""
    rows = sparse.csr_matrix(ROWS)
    arrays = {"indices": rows.indices, "indptr": rows.indptr, "format": np.array(b"csr"), "shape": np.array(rows.shape)}
    return {n: a for n, a in ({**arrays, "data": rows.data} | changed).items() if a is not None}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"shape": np.array([6, 3])}, "do not belong together"),
        ({"shape": np.array([-6, 4])}, "do not belong together"),
        ({"shape": np.array([6.0, 4.0])}, "do not belong together"),
        ({"shape": np.array([6, 4, 1])}, "do not belong together"),
        ({"indptr": np.array([0, 9, 1, 2, 3, 4, 5])}, "do not belong together"),
        ({"indptr": np.zeros(7, np.int64)}, "do not belong together"),
        ({"indptr": np.zeros(70, np.int64)}, "do not belong together"),
        ({"indices": np.full(len(sparse.csr_matrix(ROWS).data), 2**63, np.uint64)}, "do not belong together"),
        ({"indices": np.full(len(sparse.csr_matrix(ROWS).data), -1)}, "do not belong together"),
        ({"indices": np.zeros(3, np.int64)}, "do not belong together"),
        ({"data": np.ones((2, 2))}, "do not belong together"),
        ({"data": np.array(["a"] * len(sparse.csr_matrix(ROWS).data))}, "sparse matrix of <U1"),
        ({"format": np.array("bsr")}, "another format than csr, csc and coo; save it with scipy.sparse.save_npz"),
        ({"format": np.array(["csr", "csr"])}, "another format"),
        ({"indptr": None}, "another format"),
        (
            {"shape": np.array([1 << 13, 1 << 13])},
            r"takes 8192 x 8192 numbers x 8 bytes as an array, more than 209715200 ",
        ),
        ({"shape": np.array([1 << 60, 1 << 60])}, "numbers x 8 bytes as an array, more"),
    ],
)
def test_files_that_were_altered_are_refused(changed, words, tmp_path):
    np.savez(tmp_path / "rows.npz", **altered(**changed))
    with pytest.raises(FormatError, match=words):
        read_values(tmp_path / "rows.npz")

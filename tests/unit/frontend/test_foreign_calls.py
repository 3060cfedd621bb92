"""Functions of other packages on secrets: the user's line, the function's name, and the way; what is advised is right."""

import sys
from pathlib import Path

import numpy as np
import pytest

import latticework as lw
from latticework.errors import TraceError, UnsupportedError, UserError
from latticework.frontend import trace
from latticework.ir import interpret

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LABELS = (X[:, 0] > 0).astype(int)
ROWS = X[:3]


def evaluated(function, *arrays):
    """What a program on secrets gives for these arrays."""
    names = [f"x{i}" for i in range(len(arrays))]
    space = {"function": function, "lw": lw, "shapes": [a.shape for a in arrays]}
    listed = ", ".join(f"{name}: lw.Secret[shapes[{i}]]" for i, name in enumerate(names))
    exec(f"def holder({listed}): return function({', '.join(names)})", space)
    return interpret(trace(lw.program(space["holder"])), [np.asarray(a, dtype=float) for a in arrays])[0]


def refused(function, *arrays, kind=TraceError):
    """The message of the error, which names this file's line."""
    with pytest.raises(kind) as caught:
        evaluated(function, *(arrays or (ROWS,)))
    assert caught.value.at.file == __file__, caught.value
    return caught.value.message


def test_estimators_name_the_way():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    logistic = LogisticRegression().fit(X, LABELS)
    said = refused(lambda x: logistic.predict_proba(x))
    assert said.startswith("LogisticRegression.predict_proba of scikit-learn cannot compute on a secret")
    assert "write x @ model.coef_.T + model.intercept_; lw.sigmoid of this" in said
    assert "take its sign, or np.argmax, after decryption" in refused(lambda x: logistic.predict(x))
    plain = refused(lambda x: LinearRegression().fit(X, LABELS).predict(x))
    assert plain.startswith("LinearRegression.predict of") and plain.endswith("x @ model.coef_.T + model.intercept_")
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)
    assert "its steps one after the other" in refused(lambda x: pipe.predict(x))
    assert "a tree compares" in refused(lambda x: DecisionTreeClassifier().fit(X, LABELS).predict(x))
    assert "theta_, var_" in refused(lambda x: GaussianNB().fit(X, LABELS).predict(x))
    assert "whose names end with _" in refused(lambda x: KNeighborsClassifier().fit(X, LABELS).predict(x))


def test_what_is_written_for_estimators_is_what_they_compute():
    pytest.importorskip("sklearn")
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.svm import SVC

    logistic = LogisticRegression().fit(X, LABELS)
    for model, method in (
        (logistic, logistic.decision_function),
        (pca := PCA(2).fit(X), pca.transform),
        (scaler := StandardScaler().fit(X), scaler.transform),
        (scaler := MinMaxScaler().fit(X), scaler.transform),
        (means := KMeans(2, n_init=1, random_state=0).fit(X), means.transform),
        (svc := SVC(gamma=0.5).fit(X, LABELS), svc.decision_function),
    ):
        advised = refused(lambda x, method=method: method(x)).partition("; write ")[2].partition(", the squared")[0]
        formula = advised.rpartition(" kernel: ")[2]
        names = {"np": np, "lw": lw, "model": model, "gamma": 0.5, "s": getattr(model, "support_vectors_", None)}
        got = evaluated(lambda x, f=formula, n=names: eval(f, {**n, "x": x}), ROWS)
        wanted = method(ROWS) ** 2 if isinstance(model, KMeans) else method(ROWS)
        np.testing.assert_allclose(np.reshape(got, np.shape(wanted)), wanted, atol=1e-9)


def test_functions_of_scipy():
    special, linalg, sparse = map(pytest.importorskip, ("scipy.special", "scipy.linalg", "scipy.sparse"))
    assert "softmax of scipy cannot compute on a secret" in (said := refused(lambda x: special.softmax(x)))
    assert "write lw.softmax(x, axis)" in said
    assert refused(lambda x: linalg.inv(x), np.eye(3)).startswith("inv of scipy cannot compute on a secret")
    matrix = sparse.csr_array(np.eye(3))
    said = refused(lambda x: matrix @ x)
    assert said.startswith("@ of csr_array of scipy") and "w.toarray() @ x" in said


def test_frames_of_pandas():
    pandas = pytest.importorskip("pandas")
    weights = RNG.normal(size=(3, 4))
    frame = pandas.DataFrame(weights)
    for use in (lambda x, w: w * x, lambda x, w: w - x, lambda x, w: x @ w.T, lambda x, w: x / w):
        np.testing.assert_allclose(evaluated(lambda x, use=use: use(x, frame), ROWS), use(ROWS, weights))
    said = refused(lambda x: frame.T @ x)
    assert said.startswith("@ of DataFrame of pandas") and "frame.to_numpy()" in said
    assert refused(lambda x: pandas.DataFrame(x)).startswith("DataFrame of pandas cannot compute on a secret")


def test_a_refusal_that_a_library_catches_is_not_lost(tmp_path, monkeypatch):
    """And errors of its own are told as errors of the function that the program called."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "estimators.py").write_text(
        "import numpy as np\n\n\n"
        "def guessed(x):\n    try:\n        return np.asarray(x)\n    except Exception:\n        return np.zeros(3)\n\n\n"
        "def stopped(x):\n    return _checked(x)\n\n\n"
        'def _checked(x):\n    raise ValueError("expected a Frame")\n\n\n'
        "def shown(x):\n    return x + 1\n"
    )
    monkeypatch.syspath_prepend(str(installed))
    estimators = __import__("estimators")
    monkeypatch.delitem(sys.modules, "estimators")
    said = refused(lambda x: estimators.guessed(x) + x)
    assert said.startswith("guessed of estimators cannot compute on a secret")
    assert "stopped of estimators cannot compute on a secret" in (said := refused(lambda x: estimators.stopped(x)))
    assert "(ValueError: expected a Frame)" in said
    np.testing.assert_array_equal(evaluated(lambda x: estimators.shown(x), ROWS), ROWS + 1)
    assert lw.program(estimators.shown)  # a program may be installed; what it calls on is at its line


def test_programs_that_are_installed_have_lines(tmp_path, monkeypatch):
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "programs.py").write_text(
        "import latticework as lw\n\n\n@lw.program\ndef larger(x: lw.Secret[3]):\n    return x > 0\n"
    )
    monkeypatch.syspath_prepend(str(installed))
    programs = __import__("programs")
    monkeypatch.delitem(sys.modules, "programs")
    with pytest.raises(TraceError, match="comparison") as caught:
        trace(programs.larger)
    assert (Path(caught.value.at.file).name, caught.value.at.line) == ("programs.py", 6)


class Tensor:
    """As a tensor of PyTorch: what it has no number of is asked ``__torch_function__``."""

    def __init__(self, array, dtype="float32"):
        self.array, self.dtype, self.shape = np.asarray(array), dtype, np.shape(array)

    def detach(self):
        return self

    cpu = detach

    def float(self):
        return Tensor(self.array)

    def numpy(self):
        if self.dtype == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


def named(name):
    """A function of PyTorch, which calls the method of its operand that has it."""

    def function(*args, **kwargs):
        owner = next(arg for arg in args if hasattr(arg, "__torch_function__"))
        return type(owner).__torch_function__(function, (type(owner),), args, kwargs)

    function.__name__ = name
    return function


def test_functions_of_torch():
    weights, bias = RNG.normal(size=(2, 4)), RNG.normal(size=2)
    w, b = Tensor(weights), Tensor(bias, "bfloat16")
    wanted = ROWS @ weights.T + bias
    np.testing.assert_allclose(evaluated(lambda x: named("linear")(x, w, b), ROWS), wanted)
    np.testing.assert_allclose(evaluated(lambda x: named("relu")(x, inplace=False), ROWS), np.maximum(ROWS, 0))
    np.testing.assert_allclose(evaluated(lambda x: named("matmul")(w, x.T), ROWS), weights @ ROWS.T)
    np.testing.assert_allclose(evaluated(lambda x: named("__rsub__")(x, Tensor(ROWS)), ROWS), 0 * ROWS)
    np.testing.assert_allclose(evaluated(lambda x: named("dropout")(x, 0.5, False), ROWS), ROWS)
    images = RNG.normal(size=(2, 1, 4, 4))
    means = images.reshape(2, 1, 2, 2, 2, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(evaluated(lambda x: named("avg_pool2d")(x, 2, 2, 0, False, True, None), images), means)
    np.testing.assert_array_equal(evaluated(lambda x: x.flatten(1, -1), images), images.reshape(2, 16))
    np.testing.assert_array_equal(evaluated(lambda x: x.flatten(), images), images.ravel())
    np.testing.assert_array_equal(evaluated(lambda x: named("flatten")(x, 1, 2), images), images.reshape(2, 4, 4))
    shares = np.exp(ROWS) / np.exp(ROWS).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(evaluated(lambda x: named("softmax")(x, 1, _stacklevel=5), ROWS), shares)
    for function, said in (
        (lambda x: named("softmax")(x), "softmax with these options of PyTorch"),
        (lambda x: named("avg_pool2d")(x, 2, ceil_mode=True), "avg_pool2d with these options of PyTorch"),
        (lambda x: named("layer_norm")(x, (4,)), "layer_norm of PyTorch has no counterpart for secrets"),
        (lambda x: named("dropout")(x), "dropout with these options of PyTorch"),
        (lambda x: named("gelu")(x, approximate="tanh"), "gelu with these options of PyTorch"),
    ):
        assert said in (message := refused(function, kind=UnsupportedError))
        assert "w = layer.weight.detach().numpy()" in message


def test_modules_of_torch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2)).double()
    wanted = net(torch.tensor(ROWS)).detach().numpy()
    np.testing.assert_allclose(evaluated(lambda x: net(x), ROWS), wanted, atol=1e-9)
    w = torch.nn.Parameter(torch.randn(4, 2).double())
    np.testing.assert_allclose(evaluated(lambda x: w.T @ x.T, ROWS), w.detach().numpy().T @ ROWS.T)
    for layers in (torch.nn.LayerNorm(4), torch.nn.Sequential(torch.nn.Tanh(), torch.nn.LayerNorm(4))):
        said = refused(lambda x, layers=layers: layers(x))
        assert said.startswith("LayerNorm of PyTorch cannot compute on a secret")
    head = torch.nn.Sequential(torch.nn.Flatten(), net, torch.nn.Dropout(), torch.nn.Softmax(-1)).eval()
    wanted = head(torch.tensor(ROWS)).detach().numpy()
    np.testing.assert_allclose(evaluated(lambda x: head(x), ROWS), wanted, atol=1e-9)

    @lw.program
    def called(x: lw.Secret[3, 4]):
        return head(x), net(x)

    for given in (ROWS, torch.tensor(ROWS)):
        assert isinstance(called(given), tuple)
        np.testing.assert_allclose(called(given)[0], wanted, atol=1e-9)
    np.testing.assert_allclose(called(ROWS[:2])[0], wanted[:2], atol=1e-9)


def test_programs_of_tensors_only_are_called_with_arrays():
    def linear(x, w):
        if isinstance(x, np.ndarray):
            raise TypeError("linear(): argument 'input' (position 1) must be Tensor, not numpy.ndarray")
        return named("linear")(x, w)

    weights = RNG.normal(size=(2, 4))

    @lw.program
    def one(x: lw.Secret[3, 4], w):
        return linear(x, w)

    @lw.program
    def by_name(x: lw.Secret[3, 4]):
        return {"first": linear(x, weights), "last": x}

    np.testing.assert_allclose(one(ROWS, weights), ROWS @ weights.T)
    np.testing.assert_allclose(one(X, weights), X @ weights.T)  # any number of rows
    assert list(by_name(ROWS)) == ["first", "last"]
    with pytest.raises(TypeError, match="unrelated"):
        lw.program(unrelated)(ROWS)


def unrelated(x: lw.Secret[3, 4]):
    raise TypeError("unrelated")


@lw.program
def doubled(x: lw.Secret[4]):
    return x + x


@lw.program
def weighted(x: lw.Secret, w, b):
    return x * w + b


@lw.circuit
def scaled(x: lw.vector(4), w):
    return x * w


GIVEN = np.array([0.5, -1.0, 0.25, 1.0])
SMALL = {"ring_degree": 1024, "insecure": True}


def frame(values):
    """A series of pandas, of a dtype that knows missing values."""
    return pytest.importorskip("pandas").Series(values, dtype="Float64")


def sparse(values):
    """A sparse array of SciPy."""
    return pytest.importorskip("scipy.sparse").coo_array(values)


@pytest.mark.parametrize("make", [Tensor, lambda v: Tensor(v, "bfloat16"), frame, sparse])
def test_arrays_of_other_packages_are_taken_wherever_arrays_are(make):
    given = make(GIVEN)
    model = lw.compile(doubled, calibrate=given, **SMALL)
    np.testing.assert_array_equal(model.client().checked((given,), {}).values["x"], GIVEN)
    np.testing.assert_array_equal(doubled(given), 2 * GIVEN)
    model = lw.compile(weighted, example=given, weights=(given, given), **SMALL)
    np.testing.assert_allclose(model.plaintext(given)[0], GIVEN * GIVEN + GIVEN)
    np.testing.assert_allclose(lw.polynomial(given, given), np.polynomial.polynomial.polyval(GIVEN, GIVEN))
    if make is not sparse:
        model = lw.compile(scaled, weights={"w": given}, calibrate=given, **SMALL)
        np.testing.assert_allclose(model.plaintext(given), GIVEN * GIVEN)


def test_frames_of_other_things_are_refused():
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"a": [1.0, 2.0], "city": ["Rome", "Oslo"]})
    with pytest.raises(
        UserError, match=r"DataFrame has columns that are no numbers: city \(.*\); leave them out, or enc"
    ):
        lw.compile(doubled, calibrate=mixed, **SMALL)
    model = lw.compile(doubled, **SMALL)
    with pytest.raises(UserError, match=r"Series has columns that are no numbers: \(.*"):
        model.client().checked((pandas.Series(list("abcd")),), {})
    matrix = pytest.importorskip("scipy.sparse").csr_matrix(np.eye(4))
    with pytest.raises(UserError, match=r"a csr_matrix, whose \* is a product of matrices; give value.toarray\(\)"):
        lw.compile(weighted, example=GIVEN, weights=(matrix, GIVEN), **SMALL)

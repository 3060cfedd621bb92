"""MNIST: digits on images of 28 x 28 pixels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.many_rows.networks import SQUARE, TRAINED, forward, read_digits, train
from bench.suite.stage_process import StageUsage
from bench.suite.workload import Size, Workload
from latticework.errors import UserError

WIDTHS = (784, 128, 10)
CALIBRATION = 1_000
PRECISION_BITS = 7  # that the build asks for, relative to the largest score
NAMES = ("single", "small", "medium", "large")
COUNTS = (1, 100, 1_000, 10_000)


class Mnist(Workload):
    """Images of the file `digits`, first those that the network was not trained on.

    digits  a file of NumPy with `images` (n, 28, 28) of grey values of 8 bits and `labels` (n)
    """

    name = "mnist"
    sizes: Mapping[str, Size] = {
        name: Size(name, number, count, name) for number, (name, count) in enumerate(zip(NAMES, COUNTS, strict=True))
    }
    once = ("client_key_generation", "server_preprocess_model")
    each = (
        "client_preprocess_input", "client_encode_encrypt_input", "server_encrypted_compute", "client_decrypt_decode",
        "client_postprocess",
    )  # fmt: skip
    sent: Mapping[str, str] = {
        "keys": "public_keys", "input": "ciphertexts_upload", "result": "ciphertexts_download",
    }  # fmt: skip
    to_server = ("public_keys", "ciphertexts_upload")

    def __init__(self, digits: Path | None) -> None:
        if digits is None:
            raise UserError("bench suite mnist: there are no images; give --digits FILE.npz, with images and labels")
        try:
            self.images, self.labels = read_digits(digits)
        except (KeyError, ValueError) as error:
            raise UserError(
                f"bench suite mnist: {digits} does not hold images and labels ({error}); give what np.savez wrote of "
                "images (n, 28, 28) of grey values from 0 to 255 and labels (n)"
            ) from None
        if self.images.shape[1:] != (WIDTHS[0],) or len(self.images) != len(self.labels) or len(self.images) <= TRAINED:
            raise UserError(
                f"bench suite mnist: {digits} holds {self.images.shape} pixels and {self.labels.shape} labels; give "
                f"more than the {TRAINED} images of {WIDTHS[0]} pixels that are trained on, and a label each"
            )

    def complete(self, submission: Path) -> None:
        """Train the network, unless there are weights, and write them and calibration data."""
        weights, calibration = submission / "weights.npz", submission / "calibration.npy"
        if not (weights.exists() and calibration.exists()):
            (w1, b1), (w2, b2) = train(self.images, self.labels, WIDTHS, SQUARE)
            np.save(calibration, self.images[:CALIBRATION])
            np.savez(weights, w1=w1, b1=b1, w2=w2, b2=b2)

    def write_dataset(self, root: Path, size: Size, rng: np.random.Generator) -> None:
        """Nothing: all is of a run."""

    def write_input(self, root: Path, size: Size, rng: np.random.Generator) -> None:
        """Draw images without repetition, and write pixels of six digits and labels, one image a line."""
        if size.count > len(self.images):
            raise UserError(
                f"bench suite mnist: {size.name} takes {size.count} images, and there are {len(self.images)}; give a "
                "file of more with --digits, or a smaller size"
            )
        held = TRAINED + rng.permutation(len(self.images) - TRAINED)
        chosen = np.r_[held, rng.permutation(TRAINED)][: size.count]
        place = input_folder(root, size)
        place.mkdir(parents=True, exist_ok=True)
        np.savetxt(place / "test_pixels.txt", self.images[chosen], fmt="%.6f")
        np.savetxt(place / "test_labels.txt", self.labels[chosen], fmt="%d")
        (place / "test_labels.txt").with_name("held_out.txt").write_text(f"{np.sum(chosen >= TRAINED)}\n")

    def check(self, root: Path, size: Size, usages: Mapping[str, StageUsage]) -> dict[str, Any]:
        """Scores within their bound of NumPy's, digits those of the scores, as many as there are images.

        Where some scores are larger than those of calibration, results have no bound: they are then held to the
        precision that was asked for, of the largest score in the clear.
        """
        place, io = input_folder(root, size), root / "io" / size.name
        rows = np.loadtxt(place / "test_pixels.txt", ndmin=2)
        labels = np.loadtxt(place / "test_labels.txt", dtype=np.int64, ndmin=1)
        held = int((place / "held_out.txt").read_text())
        with np.load(root / "submission" / "weights.npz") as found:
            clear = forward([(found["w1"], found["b1"]), (found["w2"], found["b2"])], rows, SQUARE)
        scores = np.load(io / "scores.npy")
        digits = np.loadtxt(io / "encrypted_model_predictions.txt", dtype=np.int64, ndmin=1)
        stated = usages["client_decrypt_decode"].told["outputs"]["result"]["error_bound"]
        bound = float(np.abs(clear).max()) * 2.0**-PRECISION_BITS if stated is None else stated
        error = float(np.abs(scores - clear).max()) if scores.shape == clear.shape else np.inf
        chosen = clear.argmax(axis=1)
        sure = np.diff(np.sort(clear, axis=1)[:, -2:], axis=1)[:, 0] > 2 * bound
        return {
            "is_right": bool(
                digits.shape == (size.count,) and error <= bound and np.array_equal(digits[sure], chosen[sure])
            ),
            "images_not_trained_on": held, "accuracy": float((digits == labels)[:held].mean()),
            "accuracy_in_the_clear": float((chosen == labels)[:held].mean()),
            "as_in_the_clear": float((digits == chosen).mean()), "largest_error": error, "error_bound": stated,
        }  # fmt: skip


def input_folder(root: Path, size: Size) -> Path:
    """Where the suite writes images and labels."""
    return root / "datasets" / size.name / "intermediate"

"""Similarity: how many vectors of a database are near a query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.suite.similarity.vectors import DIMENSIONS, VECTORS_OF_CENTER, points, unit_vectors
from bench.suite.stage_process import StageUsage
from bench.suite.workload import Size, Workload

THRESHOLD = 0.8


class Similarity(Workload):
    """Vectors by the suite's specification: half of them random, the others near one of many random centers."""

    name = "similarity"
    sizes: Mapping[str, Size] = {
        "toy": Size("toy", 0, 1_000, "count_toy"), "small": Size("small", 1, 50_000, "count_small"),
    }  # fmt: skip
    options = ("--count_only",)
    once = ("client_preprocess_dataset", "client_key_generation", "client_encode_encrypt_db")
    each = (
        "client_preprocess_query", "client_encode_encrypt_query", "server_encrypted_compute", "client_decrypt_decode",
        "client_postprocess",
    )  # fmt: skip
    sent: Mapping[str, str] = {
        "keys": "keys", "database": "ciphertexts_upload/db.bin", "query": "ciphertexts_upload/query.bin",
        "result": "ciphertexts_download",
    }  # fmt: skip
    to_server = ("keys", "ciphertexts_upload")

    def complete(self, submission: Path) -> None:
        """Nothing: the submission is complete."""

    def write_dataset(self, root: Path, size: Size, rng: np.random.Generator) -> None:
        """Draw centers and vectors, and write them as float32."""
        place = root / "datasets" / size.name
        place.mkdir(parents=True, exist_ok=True)
        centers = unit_vectors(rng, size.count // VECTORS_OF_CENTER)
        centers.astype("<f4").tofile(place / "centers.bin")
        points(rng, centers, size.count).astype("<f4").tofile(place / "db.bin")

    def write_input(self, root: Path, size: Size, rng: np.random.Generator) -> None:
        """Draw a query as a vector is drawn, and write it as float32."""
        place = root / "datasets" / size.name
        centers = np.fromfile(place / "centers.bin", "<f4").reshape(-1, DIMENSIONS)
        points(rng, centers, 1).astype("<f4").tofile(place / "query.bin")

    def check(self, root: Path, size: Size, usages: Mapping[str, StageUsage]) -> dict[str, Any]:
        """The count is NumPy's, exactly."""
        place, io = root / "datasets" / size.name, root / "io" / size.name
        database = np.fromfile(place / "db.bin", "<f4").reshape(-1, DIMENSIONS)
        expected = int(np.sum(database @ np.fromfile(place / "query.bin", "<f4") > THRESHOLD))
        found = np.fromfile(io / "results.bin", np.int_)
        return {
            "is_right": found.shape == (1,) and int(found[0]) == expected,
            "count": [int(each) for each in found], "expected": expected,
            "error": float(abs(np.load(io / "count.npy") - expected)),
        }  # fmt: skip

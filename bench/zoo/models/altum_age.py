"""AltumAge: age by methylation."""

from __future__ import annotations

from typing import Any

import latticework as lw
from bench.zoo.entry import ZooEntry, ZooModel


def _altum_age(prepared: Any) -> ZooModel:
    import torch

    network, x = prepared
    program = lw.from_torch(network, torch.tensor(x[0]))
    return ZooModel(program, x[:256], x[256:], None, {"tolerance": 0.07, "precision_bits": 12})


def _altum_age_prepared() -> Any:
    from bench.zoo.networks import altum_age

    return altum_age()


ENTRIES = {
    "altum-age": ZooEntry(
        "biolearn 0.9.1: AltumAge, age by 20318 methylation sites", _altum_age_prepared, _altum_age, 10.0, rows=16
    ),
}  # fmt: skip

"""The models of the zoo: how each is had, data like its own, and how it is compiled."""

from __future__ import annotations

from bench.zoo.entry import ZooEntry
from bench.zoo.models import (
    altum_age,
    cut_networks,
    estimators,
    icalabel,
    integers,
    lenet,
    minilm,
    resnet20,
    skl2onnx,
    small_cnn,
    training,
    trees,
)

# By name, in the order of the table.
ENTRIES: dict[str, ZooEntry] = {
    **estimators.ENTRIES,
    **skl2onnx.ENTRIES,
    **trees.ENTRIES,
    **altum_age.ENTRIES,
    **icalabel.ENTRIES,
    **resnet20.ENTRIES,
    **minilm.ENTRIES,
    **lenet.ENTRIES,
    **small_cnn.ENTRIES,
    **cut_networks.ENTRIES,
    **training.ENTRIES,
    **integers.ENTRIES,
}

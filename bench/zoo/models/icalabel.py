"""ICLabelNet: kinds of EEG components, of one map, without the mean over four mirrored ones, from both of its files."""

from __future__ import annotations

from typing import Any

import latticework as lw
from bench.zoo.entry import ZooEntry, ZooModel
from bench.zoo.packages import onnx_file

ICLABEL_SCORES = "/Squeeze_output_0"  # of one map; what follows takes four of them
SHAPES = {"topo": (1, 1, 32, 32), "psds": (1, 1, 1, 100), "autocorr": (1, 1, 1, 100)}


def _onnx_prepared() -> Any:
    from bench.zoo.networks import ICLABEL_FOLDER, components

    return onnx_file("mne-icalabel", f"{ICLABEL_FOLDER}ICLabelNet.onnx")(), components(832)


def _of_onnx(prepared: Any) -> ZooModel:
    file, data = prepared
    return _model(lw.from_onnx(file, SHAPES, outputs=[ICLABEL_SCORES]), data)


def _pt_prepared() -> Any:
    from bench.zoo.networks import components, icalabel

    return icalabel(), components(832)


def _of_pt(prepared: Any) -> ZooModel:
    import torch

    network, data = prepared
    return _model(lw.from_torch(network, tuple(torch.tensor(each[0]) for each in data)), data)


def _model(program: Any, data: Any) -> ZooModel:
    calibrate, rows = (tuple(each[part] for each in data) for part in (slice(0, 768), slice(768, 832)))
    return ZooModel(program, calibrate, rows, None, {"degree": 31, "precision_bits": 6})


ENTRIES = {
    "icalabel": ZooEntry(
        "mne-icalabel 0.10.0: ICLabelNet.onnx, one map", _onnx_prepared, _of_onnx, 120.0, rows=64, memory="8GB"
    ),
    "icalabel-pt": ZooEntry(
        "mne-icalabel 0.10.0: ICLabelNet.pt, one map", _pt_prepared, _of_pt, 120.0, rows=64, memory="8GB"
    ),
}  # fmt: skip

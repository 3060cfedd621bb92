"""ICLabelNet: kinds of EEG components."""

from __future__ import annotations

from typing import Any

import latticework as lw
from bench.zoo.entry import ZooEntry, ZooModel
from bench.zoo.packages import onnx_file


def _icalabel_prepared() -> Any:
    from bench.zoo.networks import ICLABEL_FOLDER, components

    return onnx_file("mne-icalabel", f"{ICLABEL_FOLDER}ICLabelNet.onnx")(), components(320)


def _icalabel(prepared: Any) -> ZooModel:
    file, data = prepared
    shapes = {"topo": (1, 1, 32, 32), "psds": (1, 1, 1, 100), "autocorr": (1, 1, 1, 100)}
    program = lw.from_onnx(file, shapes, outputs=[ICLABEL_SCORES])
    calibrate, rows = (tuple(each[part] for each in data) for part in (slice(0, 256), slice(256, 320)))
    return ZooModel(program, calibrate, rows, None, {"agreement": 0.99})


ICLABEL_SCORES = "/Squeeze_output_0"  # of one map, before the mean over four mirrored ones

ENTRIES = {
    "icalabel": ZooEntry(
        "mne-icalabel 0.10.0: ICLabelNet.onnx, one map", _icalabel_prepared, _icalabel, 120.0, rows=64
    ),
}  # fmt: skip

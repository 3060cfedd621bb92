"""Networks of which a part is imported: what comes before it is their owner's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel
from bench.zoo.packages import onnx_file

_NMP = "model_1/normalized_log_1/Reshape_2"
NMP_INPUT = f"{_NMP};{_NMP}"  # levels of a constant-Q transform, scaled to 0 to 1: (1, 172, 309)
NMP_CONTOURS = "StatefulPartitionedCall:0"
_AUDIO, _SECOND = "serving_default_input_2:0", 22050  # samples

_LOGITS = "jax2tf_get_logits_/pjit_get_logits_/"
MAGIKA_INPUT = f"{_LOGITS}pjit__one_hot_/Cast_1:0"  # bytes, each as 257 numbers of which one is 1: (1, 2048, 257)


def _levels(file: bytes, count: int) -> np.ndarray:
    """What the network's front, computed by ONNX's own evaluator, makes of chords by chance."""
    import onnx
    from onnx.reference import ReferenceEvaluator
    from onnx.utils import Extractor

    model = onnx.load_from_string(file)
    model.graph.value_info.append(onnx.helper.make_tensor_value_info(NMP_INPUT, onnx.TensorProto.FLOAT, [1, 172, 309]))
    front = ReferenceEvaluator(Extractor(model).extract_model([_AUDIO], [NMP_INPUT]))
    rng = np.random.default_rng(SEED)
    time = np.arange(43844) / _SECOND
    found = []
    for _ in range(count):
        notes = 110 * 2 ** (rng.integers(0, 36, size=3) / 12)
        chord = sum(np.sin(2 * np.pi * note * time) * np.exp(-rng.uniform(0, 2) * time) for note in notes)
        heard = np.float32(chord / 3 + rng.normal(size=len(time)) / 100).reshape(1, -1, 1)
        found.append(front.run(None, {_AUDIO: heard})[0])
    return np.array(found)


def _basic_pitch_prepared() -> Any:
    file = onnx_file("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx")()
    return file, _levels(file, 6)


def _basic_pitch(prepared: Any) -> ZooModel:
    file, data = prepared
    program = lw.from_onnx(file, {NMP_INPUT: (1, 172, 309)}, inputs=[NMP_INPUT], outputs=[NMP_CONTOURS])
    return ZooModel(program, data[:4], data[4:], None, {"degree": 15, "precision_bits": 6, "effort": "fast"})


def _bytes(count: int) -> Callable[[], Any]:
    def prepared() -> Any:
        file = onnx_file("magika", "magika/models/standard_v3_3/model.onnx")()
        rng = np.random.default_rng(SEED)
        texts = [np.frombuffer(rng.bytes(2048) if n % 2 else bytes(rng.integers(32, 127, 2048).tolist()), np.uint8)
                 for n in range(count)]  # fmt: skip
        return file, np.eye(257)[np.array(texts)][:, None]

    return prepared


def _magika(prepared: Any) -> ZooModel:
    file, data = prepared
    program = lw.from_onnx(
        file, {MAGIKA_INPUT: (1, 2048, 257)}, inputs=[MAGIKA_INPUT], public={"bytes": np.zeros((1, 2048), np.int32)}
    )
    return ZooModel(program, data[:3], data[3:], None, {"degree": 15, "precision_bits": 6, "effort": "fast"})


ENTRIES = {
    "basic-pitch": ZooEntry(
        "basic-pitch 0.4.0: nmp.onnx, contours of two seconds behind its constant-Q transform", _basic_pitch_prepared,
        _basic_pitch, rows=2, is_priced=True,
    ),
    "magika": ZooEntry(
        "magika 1.0.3: standard_v3_3, kinds of files by 2048 bytes, encoded by their owner", _bytes(4), _magika, rows=1,
        is_priced=True,
    ),
}  # fmt: skip

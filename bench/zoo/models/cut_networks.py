"""Networks of which a part is imported: what comes before it is their owner's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel
from bench.zoo.packages import onnx_file
from latticework.plan.parameters import plan_bootstrap_set

_NMP = "model_1/normalized_log_1/Reshape_2"
NMP_INPUT = f"{_NMP};{_NMP}"  # levels of a constant-Q transform, scaled to 0 to 1: (1, 172, 309)
NMP_CONTOURS = "StatefulPartitionedCall:0"
_AUDIO, _SECOND = "serving_default_input_2:0", 22050  # samples

_MAGIKA = "jax2tf_get_logits_/pjit_get_logits_/MagikaV2"
MAGIKA_INPUT = f"{_MAGIKA}/LayerNorm_0/AddV2_1:0"  # of every four bytes 256 numbers: (1, 512, 256)


def _behind(file: bytes, given: str, cut: str, shape: tuple[int, ...], rows: Iterable[np.ndarray]) -> np.ndarray:
    """What the network's front, computed by ONNX's own evaluator, makes of rows."""
    import onnx
    from onnx.reference import ReferenceEvaluator
    from onnx.utils import Extractor

    model = onnx.load_from_string(file)
    model.graph.value_info.append(onnx.helper.make_tensor_value_info(cut, onnx.TensorProto.FLOAT, shape))
    front = ReferenceEvaluator(Extractor(model).extract_model([given], [cut]))
    return np.array([front.run(None, {given: row})[0] for row in rows])


def _chords(count: int) -> Iterator[np.ndarray]:
    """Chords by chance, as they are heard: two seconds each."""
    rng = np.random.default_rng(SEED)
    time = np.arange(43844) / _SECOND
    for _ in range(count):
        notes = 110 * 2 ** (rng.integers(0, 36, size=3) / 12)
        chord = sum(np.sin(2 * np.pi * note * time) * np.exp(-rng.uniform(0, 2) * time) for note in notes)
        yield np.float32(chord / 3 + rng.normal(size=len(time)) / 100).reshape(1, -1, 1)


def _files(count: int) -> Iterator[np.ndarray]:
    """Bytes of files by chance: any, or letters."""
    rng = np.random.default_rng(SEED)
    for number in range(count):
        found = np.frombuffer(rng.bytes(2048), np.uint8) if number % 2 else rng.integers(32, 127, 2048)
        yield found.astype(np.int32)[None]


def _basic_pitch_prepared() -> Any:
    file = onnx_file("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx")()
    return file, _behind(file, _AUDIO, NMP_INPUT, (1, 172, 309), _chords(6))


def _basic_pitch(prepared: Any) -> ZooModel:
    file, data = prepared
    program = lw.from_onnx(file, {NMP_INPUT: (1, 172, 309)}, inputs=[NMP_INPUT], outputs=[NMP_CONTOURS])
    return ZooModel(program, data[:4], data[4:], None, {"degree": 15, "precision_bits": 6})


def _magika_prepared() -> Any:
    file = onnx_file("magika", "magika/models/standard_v3_3/model.onnx")()
    return file, _behind(file, "bytes", MAGIKA_INPUT, (1, 512, 256), _files(10))


def _magika(prepared: Any) -> ZooModel:
    file, data = prepared
    program = lw.from_onnx(
        file, {MAGIKA_INPUT: (1, 512, 256)}, inputs=[MAGIKA_INPUT], public={"bytes": np.zeros((1, 2048), np.int32)}
    )
    options = {"degree": 63, "precision_bits": 5, "bootstrap_set": plan_bootstrap_set(15, 6.0, 1 << 16)}
    return ZooModel(program, data[:8], data[8:], None, options)


ENTRIES = {
    "basic-pitch": ZooEntry(
        "basic-pitch 0.4.0: nmp.onnx, contours of two seconds behind its constant-Q transform", _basic_pitch_prepared,
        _basic_pitch, rows=2, is_priced=True,
    ),
    "magika": ZooEntry(
        "magika 1.0.3: standard_v3_3, kinds of files by 2048 bytes, behind its embedding and first layer norm",
        _magika_prepared, _magika, rows=2, is_priced=True,
    ),
}  # fmt: skip

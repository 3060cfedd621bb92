"""Models of Keras and TensorFlow are refused with the way to ONNX, wherever they are given; no package is imported."""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import latticework as lw
from latticework.commands.programs import load_program
from latticework.values.inputs.keras_models import WAY, find_keras_way

HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(100)


def archive():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name in ("metadata.json", "config.json", "model.weights.h5"):
            file.writestr(name, "{}")
    return held.getvalue()


@pytest.fixture
def models(tmp_path):
    """A file or folder of every kind, with the option of tf2onnx that takes it."""
    folder = tmp_path / "a saved one"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"\x08\x01")
    files = {"net.keras": archive(), "net.h5": HDF5, "other.bin": HDF5, "named.zip": archive(),
             "net.tflite": b"\x1c\0\0\0TFL3", "lite": b"\x1c\0\0\0TFL3"}  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    kinds = {name: "tflite" if "lite" in name else "keras" for name in files}
    return {**{tmp_path / name: kind for name, kind in kinds.items()}, folder: "saved-model"}


def test_files_and_folders(models):
    for path, kind in models.items():
        for take in (lw.from_onnx, lw.from_torch, lw.compile, lambda each: load_program(str(each))):
            with pytest.raises(lw.UserError, match=rf"tf2onnx.convert --{kind} ") as caught:
                take(path)
            assert path.name in str(caught.value) and "net.onnx" in str(caught.value)
    for start in (HDF5, archive()):
        with pytest.raises(lw.UserError, match=r"tf2onnx.convert --keras net.keras .* lw.from_onnx"):
            lw.from_onnx(start)


def test_objects():
    model = type("Sequential", (), {"__module__": "keras.src.models.sequential"})
    mine = type("MyNet", (model,), {"__module__": "__main__"})
    for given in (model(), mine(), mine):
        for take in (lw.from_onnx, lw.from_torch, lw.from_sklearn, lw.compile):
            with pytest.raises(lw.UserError, match="is a model of Keras or TensorFlow; convert.*lw.from_onnx"):
                take(given)
    for name in ("from_keras", "from_tensorflow"):
        with pytest.raises(AttributeError, match="no attribute 'from_.*python -m tf2onnx.convert --keras net.keras"):
            getattr(lw, name)


def test_what_is_none_of_them_is_taken_as_before(tmp_path):
    held = io.BytesIO()
    np.savez(held, x=np.zeros(3))
    (tmp_path / "x.npz").write_bytes(held.getvalue())
    (tmp_path / "empty").write_bytes(b"")
    others = [tmp_path / "x.npz", tmp_path / "empty", tmp_path, tmp_path / "missing.onnx", "", "a\0b", held.getvalue()]
    for given in (*others, b"", 3, None, np.zeros(3), lambda x: x):
        assert find_keras_way(given) == ""
    assert find_keras_way(tmp_path / "missing.h5")  # a name says it, too


def test_nothing_is_imported_for_it():
    code = f"import sys, latticework as lw\ntry: lw.from_keras\nexcept AttributeError as e: assert {WAY!r} in str(e)\n"
    subprocess.run([sys.executable, "-c", code + "assert 'keras' not in sys.modules"], check=True)

"""Files that are no drivers for GPUs, or were cut off: they are refused, and what needs no driver does not ask for one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from latticework import _core
from latticework.errors import DeviceError


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    """To load one ends the process."""
    whole = Path(_core.__file__).read_bytes()
    for count in (0, 60, 70, 5_000, len(whole) // 2):
        (tmp_path / "short.so").write_bytes(whole[:count])
        with pytest.raises(DeviceError, match=r"short\.so: the driver cannot be loaded: "):
            _core.load_driver(str(tmp_path / "short.so"), "cuda")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to make a library with")
@pytest.mark.parametrize("returned", ["0", "head"])
def test_a_table_without_content_is_refused(tmp_path, returned):
    count = len(_core.gpu_kernel_names())
    source = f"static unsigned head[99] = {{2, {count}}}; void* latticework_driver(void) {{ return {returned}; }}"
    (tmp_path / "empty.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "empty.so", tmp_path / "empty.c"], check=True)
    with pytest.raises(DeviceError, match=r"empty\.so: .*(has no driver for \"cuda\"|other kernels than this library)"):
        _core.load_driver(str(tmp_path / "empty.so"), "cuda")


def test_a_simulated_device_asks_for_no_driver():
    code = """
import importlib
import latticework as lw
importlib.import_module("latticework.runtime.devices.drivers").find_spec = None
print(lw.Device("sim:1").name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "sim:1\n"

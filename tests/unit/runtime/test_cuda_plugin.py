"""The plugin for NVIDIA GPUs: that it compiles, what its kernels take, and what is said where it cannot be used."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from latticework import _core
from latticework.errors import DeviceError

ROOT = Path(__file__).resolve().parents[3]
MOST_REGISTERS = 64  # with 256 threads a block: four blocks on a multiprocessor
MOST_OF_OTHERS = 128  # of transforms that nothing takes by default: two such blocks
OTHERS = ("Radix16", "Cluster")
# Of kernels whose threads have several words each, and so need fewer of them; in blocks of 128 and of 256 threads, and
# on integers also in those of 512 threads of which one fits.
MOST_OF = {
    "(Forward|Inverse)ColumnsINS0_4Fp64E": 80,
    "(Forward|Inverse)ColumnsINS0_3U64E": 128,
    "BaseConvertLimbs": 80,
    "KeyProduct": 128,
    "BaseConvertNtt(SubScale)?INS0_3U64E": 104,
}

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not there: nothing of CUDA is compiled")


class Plugin:
    """The library, and what the assembler said of each kernel: {(kernel, architecture): figures}."""

    def __init__(self, folder: Path) -> None:
        options = ["-DLATTICEWORK_CUDA_ARCHITECTURES=80;90", "-DLATTICEWORK_CUDA_FLAGS=-Xptxas;-v"]
        self.run("cmake", "-S", str(ROOT / "cuda"), "-B", str(folder), "-G", "Ninja", *options)
        said = self.run("cmake", "--build", str(folder))
        self.library = folder / "liblatticework_cuda.so"
        pattern = (
            r"Compiling entry function '(\S+)' for 'sm_(\d+)'.*?"
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers"
        )
        self.kernels = {
            (name, arch): tuple(map(int, figures)) for name, arch, *figures in re.findall(pattern, said, re.DOTALL)
        }

    @staticmethod
    def run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return Plugin(tmp_path_factory.mktemp("cuda"))


def test_kernels_stay_in_registers(plugin):
    """Every kernel of the list for both architectures: no stack, no spills."""
    assert len(plugin.kernels) == 2 * len(_core.gpu_kernel_names())
    for kernel, (stack, stores, loads, registers) in plugin.kernels.items():
        assert (stack, stores, loads) == (0, 0, 0), kernel
        most = next((most for name, most in MOST_OF.items() if re.search(name, kernel[0])), MOST_REGISTERS)
        assert registers <= (MOST_OF_OTHERS if any(name in kernel[0] for name in OTHERS) else most), kernel


def test_the_library_stands_alone(plugin):
    """It needs nothing of CUDA on the machine that loads it, and shows one function."""
    needed = subprocess.run(["readelf", "-d", plugin.library], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"NEEDED.*(libcuda|libcudart|libpython)", needed)
    shown = subprocess.run(["nm", "-D", "--defined-only", plugin.library], capture_output=True, text=True, check=True)
    assert re.findall(r" T (\S+)", shown.stdout) == ["latticework_driver"]
    assert plugin.library.stat().st_size < 8e6


def test_a_machine_without_a_gpu_is_told(plugin):
    _core.load_driver(str(plugin.library), "cuda")
    try:
        found = _core.driver_devices("cuda")
    except DeviceError as error:
        assert re.search(r"no GPU: .*(driver|device)", str(error))
    else:
        assert all(device["compute"] >= (8, 0) for device in found)


def test_other_libraries_are_no_drivers(tmp_path, plugin):
    with pytest.raises(DeviceError, match=r"nothing\.so: the driver cannot be loaded: .*No such file"):
        _core.load_driver(str(tmp_path / "nothing.so"), "cuda")
    for name, source, text in (
        ("other", "int other(void) { return 1; }", "this library is no driver: it has no function latticework_driver"),
        (
            "later",
            "static const unsigned version[64] = {99}; const void* latticework_driver(void) { return version; }",
            r"the driver is for version 99 of the table, this library has \d+: install the two from the same release",
        ),
        (
            "fewer",
            "static const unsigned head[64] = {2, 3}; const void* latticework_driver(void) { return head; }",
            "the driver has other kernels than this library: install the two from the same release",
        ),
    ):
        (tmp_path / f"{name}.c").write_text(source)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / f"{name}.so", tmp_path / f"{name}.c"], check=True)
        with pytest.raises(DeviceError, match=text):
            _core.load_driver(str(tmp_path / f"{name}.so"), "cuda")

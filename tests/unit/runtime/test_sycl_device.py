"""The driver of SYCL on a real device, Intel's for the processor, where it is installed: what it keeps on disk, what it
refuses, and what it says of failures. That its results are right is what other tests say of every device.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from devices_here import DRIVEN

import latticework as lw
from latticework import _core, ckks

pytestmark = [
    pytest.mark.skipif("sycl:cpu" not in DRIVEN, reason="latticework-sycl is not installed: nothing of SYCL runs"),
]
PARAMETERS = ckks.Parameters(1024, [40, 30, 30], scale_bits=30, insecure=True)

# What a process with other settings finds: that a kernel of the group that compiles soonest is done, or the error.
COPIES = """
from latticework import _core
from latticework.errors import DeviceError
from latticework.runtime.devices.drivers import check_gpu
try:
    check_gpu("sycl:cpu")
    ring = _core.Ring(64, [12289], backend="sycl:cpu-fp64")
    print("done" if _core.rate_seconds(ring, "copy", 4096) > 0 else "not timed")
except (DeviceError, MemoryError) as error:
    print(error)
"""


def said(script=COPIES, package=None, **settings):
    """What a process prints, with these settings and another copy of the package."""
    path = os.pathsep.join([*([str(package)] if package else []), *sys.path])
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": path} | settings,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder for caches with the kernels of one group, compiled from a copy of the package; both."""
    folder = tmp_path_factory.mktemp("kept")
    package = folder / "site" / "latticework_sycl"
    shutil.copytree(Path(find_spec("latticework_sycl").origin).parent, package)
    assert said(package=package.parent, XDG_CACHE_HOME=str(folder)) == "done\n"
    return folder


def files(folder):
    return sorted((folder / "latticework" / "sycl").iterdir())


def test_kernels_are_kept_for_later_processes(kept):
    (file,) = files(kept)
    assert file.stat().st_mode & 0o077 == 0
    before = file.stat().st_ino
    assert said(package=kept / "site", XDG_CACHE_HOME=str(kept)) == "done\n"
    assert files(kept) == [file] and file.stat().st_ino == before


def test_kernels_of_another_source_are_not_taken(kept, tmp_path):
    """The code of another source, even where that of the right one is looked for."""
    folder = shutil.copytree(kept, tmp_path / "copy")
    header = folder / "site" / "latticework_sycl" / "sources" / "kernels.hpp"
    right = header.read_text()
    (file,) = files(folder)
    run = {"package": folder / "site", "XDG_CACHE_HOME": str(folder)}
    header.write_text(right + "\nstatic_assert(false);\n")
    assert "static assertion failed" in said(**run)  # and not the code that is there
    header.write_text(right + "// another one\n")
    assert said(**run) == "done\n"
    (other,) = set(files(folder)) - {file}
    whole = file.read_bytes()
    other.replace(file)
    header.write_text(right)
    assert said(**run) == "done\n"
    assert len(files(folder)) == 1 and file.read_bytes()[: len(whole) // 4] == whole[: len(whole) // 4]


@pytest.mark.parametrize("damage", ["version", "code", "end", "writers", "nothing"])
def test_kept_kernels_that_cannot_be_trusted_are_compiled_anew(kept, tmp_path, damage):
    """Of another compiler by what the file says, damaged, cut off, or open to others."""
    folder = shutil.copytree(kept, tmp_path / "copy", copy_function=shutil.copy)
    (file,) = files(folder)
    whole = file.read_bytes()
    digits = whole.index(b"libsycl-jit.so ") + len(b"libsycl-jit.so ")
    altered = {
        "version": whole[:digits] + b"7" + whole[digits + 1 :],
        "code": whole[:-1000] + bytes([whole[-1000] ^ 1]) + whole[-999:],
        "end": whole[: len(whole) // 2],
    }.get(damage, whole)
    file.write_bytes(altered)
    if damage == "writers":
        file.chmod(0o620)
    before = file.stat().st_ino
    assert said(package=folder / "site", XDG_CACHE_HOME=str(folder)) == "done\n"
    assert (file.stat().st_ino == before) == (damage == "nothing")
    assert len(files(folder)) == 1 and file.read_bytes()[:digits] == whole[:digits]


def test_sources_that_do_not_compile_are_an_error_with_the_kernel(kept, tmp_path):
    folder = shutil.copytree(kept, tmp_path / "copy")
    header = folder / "site" / "latticework_sycl" / "sources" / "kernels.hpp"
    header.write_text(header.read_text() + "\nint nothing = such_a_thing;\n")
    text = said(package=folder / "site", XDG_CACHE_HOME=str(folder))
    assert ": rate_" in text and "use of undeclared identifier 'such_a_thing'" in text
    shutil.rmtree(header.parent)
    text = said(package=folder / "site", XDG_CACHE_HOME=str(folder))
    assert ": rate_" in text and "sources" in text


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"CL_CONFIG_USE_FAST_RELAXED_MATH": "True"}, "done"),
        ({"SYCL_PROGRAM_COMPILE_OPTIONS": "-cl-fast-relaxed-math"}, "may change the bits of results: unset it"),
        ({"CL_CONFIG_CPU_FORCE_WORK_GROUP_SIZE": "64"}, "may change the bits of results: unset it"),
        ({"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu"}, "no device for SYCL: .*ONEAPI_DEVICE_SELECTOR=level_zero:gpu"),
    ],
)
def test_settings_of_the_environment_change_no_bits(kept, settings, text):
    found = said(package=kept / "site", XDG_CACHE_HOME=str(kept), **settings)
    assert re.search(text, found), found


# Failures


@pytest.fixture(scope="module")
def held():
    """A ciphertext on the host, and its evaluator's operations on the device warmed up."""
    generator = ckks.KeyGenerator(PARAMETERS)
    evaluator = ckks.Evaluator(PARAMETERS, generator.evaluation_keys(relin=True, steps=[1]))
    x = ckks.Encryptor(PARAMETERS, generator.secret_key(), evaluator=evaluator).encrypt(np.arange(8) / 8)
    (x.gpu("sycl:cpu") * x).rotate(1).download()
    return x


def test_full_memory_loses_nothing(held):
    small = held.gpu(lw.Device("sycl:cpu", memory="6MB"))
    kept = small + held
    with pytest.raises(MemoryError, match=r"sycl:cpu:0: no memory .* lower the memory budget"):
        [small * held for _ in range(100)]
    assert kept.to_bytes() == (held + held).to_bytes()
    assert (kept + held).to_bytes() == (held + held + held).to_bytes()


def test_a_device_that_is_full_says_so():
    script = COPIES.replace("4096", "1 << 23")
    assert "no memory" in said(script, CL_CONFIG_CPU_FORCE_GLOBAL_MEM_SIZE="32MB")


def test_a_kernel_that_cannot_be_launched_is_named():
    script = COPIES.replace(
        '_core.rate_seconds(ring, "copy", 4096)', "ring.ntt(np.zeros((1, 1, 4096), np.uint64), [0]).size"
    )
    script = "import numpy as np" + script.replace("64, [12289]", "4096, [1032193]")
    text = said(script, CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE="8KB")
    assert re.search(r"fp64_ntt_\w+: its blocks share \d+ bytes, and the device has 8192", text), text


def test_clusters_are_refused_by_name():
    ring = _core.Ring(16, [97], backend="sycl:cpu-u64")
    text = r'transform "cluster" needs a GPU of compute capability 9\.0; this device, .*, has no clusters of blocks'
    with pytest.raises(ValueError, match=text):
        ring.transform = "cluster"


def test_a_process_made_by_fork_has_no_device(held, start_python):
    script = """
import os
import numpy as np
import latticework as lw
from latticework import _core
from latticework.errors import DeviceError
lw.Device("sycl:cpu")
ring = _core.Ring(64, [12289], backend="sycl:cpu-u64")
x = np.arange(64, dtype=np.uint64)[None, None]
found = ring.automorphism(x, 5, [0])
if os.fork() == 0:
    for use in (lambda: ring.automorphism(x, 5, [0]), lambda: _core.Ring(64, [12289], backend="sycl:cpu"),
                lambda: _core.driver_devices("sycl:cpu")):
        try:
            use()
        except DeviceError as error:
            print("a process made by fork has no devices" in str(error))
    os._exit(0)
os.wait()
print((ring.automorphism(x, 5, [0]) == found).all())
"""
    out, err = start_python(script).communicate()
    assert out.split() == ["True"] * 4, out + err


def test_threads_compute_on_queues_of_their_own(held):
    expected = (held * held).rotate(1).to_bytes()
    found = []

    def run():
        found.extend((held.gpu("sycl:cpu") * held).rotate(1).to_bytes() for _ in range(5))

    threads = [Thread(target=run) for _ in range(4)]
    with lw.profile("sycl:cpu") as profile:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [expected] * 20
    assert {row["kernel"] for row in profile.kernels()} > {"copy from the device"}
    assert all(row["least"] >= 0 and row["seconds"] > 0 for row in profile.kernels())


def test_the_device_is_listed():
    (found,) = (entry for entry in lw.devices() if entry["device"] == "sycl:cpu:0")
    assert found["memory"] > found["free"] > 0 and found["arithmetic"] == "fp64" and found["name"]

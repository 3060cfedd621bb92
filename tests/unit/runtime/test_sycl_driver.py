"""Devices of SYCL: their names, what is said where they cannot be used, and how their driver is loaded; with drivers of
a few lines that stand in for the real one.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import latticework as lw
from latticework import _core
from latticework.errors import DeviceError, UserError
from latticework.runtime.devices import device, drivers

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "sycl" / "src" / "latticework_sycl" / "__init__.py"
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to make a library with")


@pytest.fixture
def package(monkeypatch):
    """The module of the package, from its source; what it sets in the environment goes again."""
    monkeypatch.setattr(os, "environ", dict(os.environ))
    spec = spec_from_file_location("latticework_sycl", PACKAGE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def nothing_is_installed(monkeypatch):
    monkeypatch.setattr(drivers, "load_driver", lambda kind: None)
    monkeypatch.setattr(device, "load_driver", lambda kind: None)
    if _core.backend_variants("sycl:cpu")[0][1]:
        pytest.skip("a driver of SYCL is loaded in this process")


@pytest.mark.parametrize(
    ("name", "who"), [("sycl:cpu", "no device for SYCL"), ("sycl:gpu", "no GPU"), ("sycl:gpu:1", "no GPU")]
)
def test_a_missing_package_is_named(nothing_is_installed, name, who):
    text = f"{who}: latticework-sycl, which has the driver, is not installed"
    with pytest.raises(DeviceError, match=text):
        lw.Device(name)
    found = {entry["device"]: entry for entry in lw.devices()}
    assert text in found[name.removesuffix(":1")]["unusable"]


@pytest.mark.parametrize("name", ["sycl", "sycl:", "sycl:tpu", "sycl:cpu:", "sycl:gpu:x", "sycl:0", "SYCL:cpu"])
def test_other_names_are_no_devices(name):
    with pytest.raises(
        UserError, match=f'\'{name}\' is no device; choose "cpu", "cuda", "sim", "sycl:cpu", "sycl:gpu"'
    ):
        lw.Device(name)


@pytest.mark.parametrize("backend", ["sycl:cpu", "sycl:gpu-fp64", "sycl:cpu-u64"])
def test_backends_need_the_package(nothing_is_installed, backend):
    with pytest.raises(DeviceError, match="latticework-sycl, which has the driver, is not installed"):
        _core.Ring(16, [97], backend=backend)


def test_kinds_are_taken_apart():
    assert [device.kind_of(name) for name in ("cpu", "cuda:0", "sycl:gpu:12")] == ["cpu", "cuda", "sycl:gpu"]
    with pytest.raises(UserError, match="several devices are written as 'sim:0,1'"):
        device.as_devices("sycl:gpu,cpu")


def test_the_distributions_are_of_one_version():
    base, driver = (tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"] for folder in ("", "sycl"))
    assert base["version"] == driver["version"]
    assert base["optional-dependencies"]["sycl"] == [driver["name"]]


# Loading


FAKE = """
#include "backend/gpu/driver.h"
static const char* names[%(count)d] = {%(names)s};
static const uint32_t bytes[%(count)d] = {%(bytes)s};
static LwStatus count(int32_t* devices) { *devices = %(devices)d; return %(devices)d ? LW_OK : LW_FAILED; }
static LwStatus describe(int32_t device, LwDeviceInfo* info) {
  *info = (LwDeviceInfo){.name = "a fake device", .total_bytes = 1000, .has_fast_doubles = 1};
  return LW_OK;
}
static const char* error_text(int32_t device, LwStatus status) { return "there is no such thing here"; }
static LwDriver table = {%(version)d, %(count)d, names, bytes, count, describe, error_text};
const LwDriver* latticework_driver(const char* kind) { return kind[5] == 'g' ? &table : 0; }
"""


def make_library(folder, *, devices=2, version=2, drops=0):
    """A library with a driver of "sycl:gpu" that has so many devices, and the kernels of the core but for the last."""
    kernels = _core.gpu_kernel_names()[: -drops or None]
    sizes = _core.gpu_kernel_args_bytes()[: -drops or None]
    source = FAKE % {
        "count": len(kernels), "names": ", ".join(f'"{name}"' for name in kernels), "version": version,
        "bytes": ", ".join(map(str, sizes)), "devices": devices,
    }  # fmt: skip
    (folder / "fake.c").write_text(source)
    library = folder / "liblatticework_sycl.so"
    subprocess.run(
        ["cc", "-std=c11", "-shared", "-fPIC", "-I", ROOT / "cpp", "-o", library, folder / "fake.c"], check=True
    )
    return library


LISTS = """
import sys
import latticework as lw
from latticework.errors import DeviceError
print([(d["device"], d.get("name"), d.get("arithmetic"), d.get("unusable")) for d in lw.devices() if "sycl" in d["device"]])
try:
    print(lw.Device(sys.argv[1]).name)
except DeviceError as error:
    print(error.message)
"""


def said_with(library, name, *, init="def open_runtime():\n    print('opened')\n"):
    """What another process says of a device, with the package of this library installed."""
    package = library.parent / "site" / "latticework_sycl"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(init)
    library.rename(package / library.name)
    path = os.pathsep.join([str(package.parent), *sys.path])
    done = subprocess.run([sys.executable, "-c", LISTS, name], env=os.environ | {"PYTHONPATH": path},
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout


@needs_compiler
def test_a_driver_is_loaded_from_its_package(tmp_path):
    said = said_with(make_library(tmp_path), "sycl:gpu:1")
    assert said.startswith("opened\n") and said.endswith("sycl:gpu:1\n")
    assert "('sycl:gpu:0', 'a fake device', 'fp64', None), ('sycl:gpu:1', 'a fake device', 'fp64', None)" in said
    assert 'this library has no driver for "sycl:cpu"' in said


@needs_compiler
@pytest.mark.parametrize(
    ("options", "name", "text"),
    [
        ({}, "sycl:gpu:2", "device='sycl:gpu:2': there are 2 of this kind, counted from 0"),
        ({"devices": 0}, "sycl:gpu", "no GPU: there is no such thing here"),
        ({"version": 1}, "sycl:gpu", "the driver is for version 1 of the table, this library has 2: install the two"),
        ({"drops": 1}, "sycl:gpu", "the driver has other kernels than this library: install the two"),
    ],
)
def test_drivers_that_cannot_be_used_say_why(tmp_path, options, name, text):
    assert text in said_with(make_library(tmp_path, **options), name)


@needs_compiler
def test_a_runtime_that_is_not_there_is_named(tmp_path):
    init = "def open_runtime():\n    raise OSError('libsycl.so.9 cannot be opened; install intel-sycl-rt')\n"
    said = said_with(make_library(tmp_path), "sycl:gpu", init=init)
    assert said.endswith("no device for SYCL: libsycl.so.9 cannot be opened; install intel-sycl-rt\n")


# What the package opens


def test_intels_libraries_are_opened_by_their_paths(package, monkeypatch, tmp_path):
    there = {}
    for name, library in (*package.RUNTIME.items(), package.PROCESSOR):
        there.setdefault(name, []).append(tmp_path / library)
        (tmp_path / library).touch()
    opened = []
    monkeypatch.setattr(package, "CDLL", opened.append)
    monkeypatch.setattr(package, "_file", lambda name, library: next(p for p in there[name] if p.name == library))
    os.environ["OCL_ICD_FILENAMES"] = "other.so"
    for _ in range(2):
        package.open_runtime()
    assert opened == 2 * [str(tmp_path / library) for library in package.RUNTIME.values()]
    assert os.environ["OCL_ICD_FILENAMES"] == f"{tmp_path / 'libintelocl.so'}:other.so"
    assert os.environ["CL_CONFIG_USE_FAST_RELAXED_MATH"] == "False"


def test_a_library_that_is_missing_is_named_with_its_package(package, monkeypatch):
    monkeypatch.setattr(package, "_file", lambda name, library: None)
    monkeypatch.setattr(package, "RUNTIME", {"intel-sycl-rt": "libthat_nobody_has.so.9"})
    with pytest.raises(OSError, match=r"libthat_nobody_has\.so\.9 cannot be opened \(.*\); install intel-sycl-rt"):
        package.open_runtime()
    assert "OCL_ICD_FILENAMES" not in os.environ


def test_files_of_packages_are_found_by_name(package):
    assert package._file("pytest", "METADATA").is_file()
    assert package._file("pytest", "libsycl.so.9") is package._file("no-such-package", "METADATA") is None

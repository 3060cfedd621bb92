"""The driver for NVIDIA GPUs as part of the build of latticework: what LATTICEWORK_CUDA says, and where it is found."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from latticework import _core
from latticework.errors import DeviceError
from latticework.runtime.devices import drivers

ROOT = Path(__file__).resolve().parents[3]
PLACES = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
CMAKE, NINJA = (shutil.which(name, path=PLACES) for name in ("cmake", "ninja"))
needs_cmake = pytest.mark.skipif(None in (CMAKE, NINJA), reason="cmake and ninja are not there")


@pytest.fixture
def configure(tmp_path):
    """A function that configures the base package with an nvcc of some release, and gives the status and what is said."""
    nanobind = subprocess.run([sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True)

    def run(value, release):
        nvcc = tmp_path / "nvcc"
        nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.0'\n")
        nvcc.chmod(0o755)
        options = {
            "LATTICEWORK_CUDA": value, "NVCC": nvcc, "nanobind_DIR": nanobind.stdout.strip(),
            "Python_EXECUTABLE": sys.executable, "CMAKE_MAKE_PROGRAM": NINJA,
        }  # fmt: skip
        command = [CMAKE, "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja"]
        done = subprocess.run(
            [*command, *(f"-D{name}={option}" for name, option in options.items())], capture_output=True, text=True
        )
        rules = tmp_path / "build" / "build.ninja"
        return done.returncode, done.stdout + done.stderr, rules.is_file() and "driver.cu" in rules.read_text()

    if nanobind.returncode:
        pytest.skip("nanobind is not there")
    return run


@needs_cmake
@pytest.mark.parametrize(
    ("value", "release", "status", "is_built", "text"),
    [
        ("OFF", "13.0", 0, False, ""),
        ("AUTO", "13.0", 0, True, "nvcc, release 13.0, for 80;90;100;120"),
        ("AUTO", "12.4", 0, False, "without the driver for NVIDIA GPUs:"),
        ("ON", "13.1", 0, True, "nvcc, release 13.1, for"),
        ("ON", "12.4", 1, False, "LATTICEWORK_CUDA=ON, but"),
        ("YES", "13.0", 1, False, "LATTICEWORK_CUDA is YES; give AUTO, ON or OFF"),
    ],
)
def test_the_option_says_whether_the_driver_is_built(configure, value, release, status, is_built, text):
    found, said, has_rule = configure(value, release)
    assert (found, has_rule) == (status, is_built), said
    assert text in said
    if value == "OFF":
        assert "cuda" not in said
    if release == "12.4" and value != "OFF":
        assert "CUDA 13.0 or later is needed" in " ".join(said.split())


def test_both_distributions_are_of_one_version():
    base, driver = (tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"] for folder in ("", "cuda"))
    assert base["version"] == driver["version"]
    assert base["optional-dependencies"]["cuda"] == [driver["name"]]


def test_a_driver_beside_the_core_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(_core, "__file__", str(tmp_path / "_core.so"))
    library = tmp_path / drivers.DRIVERS["cuda"][1]
    library.write_text("not a library")
    with pytest.raises(DeviceError, match=f"{library}: the driver cannot be loaded"):
        drivers.load_driver.__wrapped__("cuda")

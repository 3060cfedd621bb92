"""The backends: those of the core, and that of a driver for GPUs where one is installed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from latticework.values.extension import _core

DRIVER = ("latticework_cuda", "liblatticework_cuda.so")  # the package of the driver, and the library in it


@cache
def load_driver() -> None:
    """Load the driver for GPUs if there is one: built with the core and beside it, or in its own package.

    raises  DeviceError if it cannot be loaded, or was made for another version
    """
    package, library = DRIVER
    for place in (_core.__file__, getattr(find_spec(package), "origin", None)):
        if place is not None and (path := Path(place).with_name(library)).is_file():
            _core.load_driver(str(path))
            return


def check_gpu(asked: str) -> None:
    """DeviceError, with the reason, if a backend or a device asks for a GPU that cannot be used."""
    if asked.startswith("cuda"):
        load_driver()
        _core.driver_devices()


def known_backends() -> list[str]:
    """Names of backends and their variants that run here."""
    names = _core.backend_names()
    return ["auto", *names, *(name for of in names for name, is_here in _core.backend_variants(of) if is_here)]

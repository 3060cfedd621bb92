"""The backends: those of the core, and those of drivers for devices where one is installed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from latticework.errors import DeviceError
from latticework.values.extension import _core

DRIVERS = {  # kind of devices -> the module that has its driver, and the library in it
    "cuda": ("latticework_cuda", "liblatticework_cuda.so"),
    "sycl:cpu": ("latticework_sycl", "liblatticework_sycl.so"),
    "sycl:gpu": ("latticework_sycl", "liblatticework_sycl.so"),
}


@cache
def load_driver(kind: str) -> None:
    """Load the driver of a kind of devices if there is one: built with the core and beside it, or in its own package.

    raises  DeviceError if it cannot be loaded, or was made for another version
    """
    module, library = DRIVERS[kind]
    for place in (_core.__file__, getattr(find_spec(module), "origin", None)):
        if place is not None and (path := Path(place).with_name(library)).is_file():
            if module == "latticework_sycl":
                _open_runtime_of_sycl()
            _core.load_driver(str(path), kind)
            return


def _open_runtime_of_sycl() -> None:
    """Have the package of the driver open Intel's libraries, which no search path has to name then."""
    try:
        import latticework_sycl  # type: ignore[import-not-found]

        latticework_sycl.open_runtime()
    except OSError as error:
        raise DeviceError(f"no device for SYCL: {error}") from None


def check_gpu(asked: str) -> None:
    """DeviceError, with the reason, if a backend or a kind of devices asks for a driver that cannot be used."""
    kind = asked.partition("-")[0]
    if kind in DRIVERS:
        load_driver(kind)
        _core.driver_devices(kind)


def known_backends() -> list[str]:
    """Names of backends and their variants that run here."""
    names = _core.backend_names()
    return ["auto", *names, *(name for of in names for name, is_here in _core.backend_variants(of) if is_here)]

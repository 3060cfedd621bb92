"""The kinds of devices that programs are tested on: simulated ones, and those of every driver that is installed here."""

import contextlib

import latticework as lw
from latticework import _core
from latticework.errors import DeviceError
from latticework.runtime.devices.drivers import DRIVERS, load_driver

for kind in DRIVERS:
    with contextlib.suppress(DeviceError):  # it has no device here
        load_driver(kind)
DRIVEN = tuple(kind for kind in DRIVERS if kind in _core.backend_names())
KINDS = ("sim", *DRIVEN)


def place_of(kind, seed=0):
    """A device of a kind, with one arithmetic or the other; of simulated ones, which are two, each has its own."""
    number = seed % 2 if kind == "sim" else 0
    return lw.Device(f"{kind}:{number}", arithmetic=("u64", "fp64")[seed % 2])

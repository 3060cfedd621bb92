"""A device by name, and how it is to be used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY
from itertools import count
from typing import Any

from latticework.errors import DeviceError, UserError
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.schema.amounts import parse_bytes
from latticework.runtime.devices.drivers import DRIVERS, check_gpu, load_driver
from latticework.values.extension import _core

ARITHMETICS = ("auto", "fp64", "u64")
HOST = "auto"  # the host's backend
SIMULATED = 2  # devices of the simulator
KINDS = "|".join((*DRIVERS, "sim"))  # as a pattern
NO_LIMIT = (1 << 64) - 1
_ACCOUNTS = count(1)  # of contexts that share no memory


@dataclass(frozen=True)
class Device:
    """A GPU or a simulated one, for wherever the name of a device is taken.

    name         "cuda" or "cuda:1", "sycl:gpu", "sycl:cpu", "sim"; without a number the first
    memory       most that is used of its memory, such as "4GB"; None: all there is
    cache        keep freed memory for what comes next; without it every buffer goes back to the driver, which waits
    synchronous  wait for every kernel, so that an error names the one that failed
    arithmetic   "fp64" for primes below 2^50, "u64" for those below 2^60; "auto": the faster one
    graphs       replay the second run of a plan, and those after it, as a whole
    raises       UserError, DeviceError for a GPU that cannot be used
    """

    name: str
    _: KW_ONLY
    memory: str | int | None = None
    cache: bool = True
    synchronous: bool = False
    arithmetic: str = "auto"
    graphs: bool = True

    def __post_init__(self) -> None:
        _refuse_several(self.name)
        match = re.fullmatch(rf"({KINDS})(?::(\d{{1,4}}))?", self.name) if isinstance(self.name, str) else None
        if match is None:
            raise UserError(
                f'device={self.name!r:.60} is no device; choose "cpu", "cuda", "sim", "sycl:cpu", "sycl:gpu", or one '
                'with its number, as in "cuda:1"'
            )
        if self.arithmetic not in ARITHMETICS:
            raise UserError(f"Device: arithmetic={self.arithmetic!r:.60}; choose one of {', '.join(ARITHMETICS)}")
        flags = ("cache", self.cache), ("synchronous", self.synchronous), ("graphs", self.graphs)
        for option, given in flags:
            if not isinstance(given, bool):
                raise UserError(f"Device: {option}={given!r:.60}; give True or False")
        object.__setattr__(self, "name", f"{match[1]}:{int(match[2] or 0)}")
        if self.memory is not None:
            object.__setattr__(self, "memory", parse_bytes(self.memory, "Device: memory"))
        check_gpu(match[1])
        there = SIMULATED if match[1] == "sim" else len(_core.driver_devices(match[1]))
        if int(match[2] or 0) >= there:
            raise DeviceError(f"device={self.name!r}: there are {there} of this kind, counted from 0")

    @property
    def records(self) -> bool:
        """Whether runs are recorded there, to be replayed."""
        return self.graphs and self.cache and not self.synchronous

    @property
    def _kind(self) -> str:
        return kind_of(self.name)

    @property
    def _number(self) -> int:
        return int(self.name.rpartition(":")[2])

    @property
    def _backend(self) -> str:
        order = "-forward" if self._kind == "sim" else ""
        return self._kind if self.arithmetic == "auto" else f"{self._kind}-{self.arithmetic}{order}"


Places = str | Device | Sequence[str | Device]  # what servers take


def as_device(given: Any) -> Device | None:
    """A device, or None for "cpu".

    raises  UserError for what is no device, or several; DeviceError for one that cannot be used
    """
    if isinstance(given, Device) or given is None:
        return given
    return None if isinstance(given, str) and given == "cpu" else Device(given)


def as_devices(given: Any) -> tuple[Device | None, ...]:
    """Devices of one kind, in the order in which they are named: "sim:0,1", or a list; (None,) for "cpu".

    raises  UserError for what is no device, none at all, one that is named twice, and different kinds; DeviceError for
            one that cannot be used
    """
    if isinstance(given, str) and "," in given:
        match = re.fullmatch(rf"({KINDS}):(\d{{1,4}}(?:,\d{{1,4}})+)", given)
        if match is None:
            raise UserError(f"device={given!r:.60}: several devices are written as 'sim:0,1', or as a list of them")
        names: Sequence[Any] = [f"{match[1]}:{number}" for number in match[2].split(",")]
    else:
        names = given if isinstance(given, list | tuple) else [given]
    places = [as_device(name) for name in names]
    if not places:
        raise UserError(f"device={given!r}: name at least one device, or 'cpu'")
    found = [name_of(place) for place in places]
    if len({kind_of(name) for name in found}) > 1:
        raise UserError(f"device={', '.join(found)}: several devices are all of one kind, as cuda or sim")
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"device={', '.join(found)}: {twice} is named twice; name every device once")
    return tuple(places)


def kind_of(name: str) -> str:
    """The kind of a device by its name with a number: "cuda" of "cuda:0", "cpu" of "cpu"."""
    return name.rpartition(":")[0] or name


def name_of(place: Device | None) -> str:
    """The name of a device, or "cpu"."""
    return "cpu" if place is None else place.name


def names_of(places: Sequence[Device | None]) -> str:
    """The name of several devices of one kind, as `as_devices` takes it."""
    first, *others = (name_of(place) for place in places)
    return ",".join([first, *(name.rpartition(":")[2] for name in others)])


def _refuse_several(given: Any) -> None:
    """UserError for what names several devices, where one is taken."""
    if isinstance(given, list | tuple) or (isinstance(given, str) and "," in given):
        raise UserError(
            f"device={given!r:.60}: one device is taken here, and only servers take several; name one, as in 'cuda:1'"
        )


def contexts_on(
    chain: ModulusChain, device: Device | None, threads: int, *, is_apart: bool = False
) -> list[_core.Context]:
    """The core's contexts for these parameters on a device, or on so many threads of the host: one a plaintext modulus.

    is_apart  they share no memory with others on the device, so that its limit is about what they use themselves
    """
    parameters = [core_parameters(chain, number) for number in range(len(chain.plain_moduli))]
    if device is None:
        return [_core.Context(each, HOST, threads) for each in parameters]
    most = NO_LIMIT if device.memory is None else int(device.memory)
    account = next(_ACCOUNTS) if is_apart else 0
    return [
        _core.Context(
            each,
            device._backend,
            threads,
            device._number,
            most,
            device.cache,
            device.synchronous,
            device.graphs,
            account,
        )
        for each in parameters
    ]


def memory_of(device: Device) -> int | None:
    """Bytes of a device that there are, or that may be used of them; None: as many as are asked for."""
    all_of_kind = [] if device._kind == "sim" else _core.driver_devices(device._kind)
    there = [found["total_bytes"] for found in all_of_kind[device._number : device._number + 1]]
    known = [int(amount) for amount in (device.memory, *there) if amount is not None]
    return min(known, default=None)


def free_memory_of(device: Device, *, is_trimmed: bool = False) -> int:
    """Bytes of a device that nobody has, or that may still be used of them.

    is_trimmed  what was freed, and idle recordings, go back to it first, which waits for all work there
    """
    held = _core.settle_device(device._kind, device._number, is_trimmed)[0] if is_trimmed or device.memory else 0
    free = int(_core.driver_devices(device._kind)[device._number]["free_bytes"])
    return free if device.memory is None else min(free, max(0, int(device.memory) - held))


def devices() -> list[dict[str, Any]]:
    """List the devices, one dict each: "device" is the name that options take, "name" what it calls itself,
    "memory" in bytes, "arithmetic" that is faster on it; a kind that cannot be used has the reason as "unusable".
    """
    found: list[dict[str, Any]] = [{"device": "cpu", "kind": "cpu", "name": "this machine's processor"}]
    for kind in DRIVERS:
        try:
            load_driver(kind)
            for number, gpu in enumerate(_core.driver_devices(kind)):
                found.append({"device": f"{kind}:{number}", "kind": kind, "name": gpu["name"],
                              "memory": gpu["total_bytes"], "free": gpu["free_bytes"], "compute": gpu["compute"],
                              "arithmetic": "fp64" if gpu["has_fast_doubles"] else "u64"})  # fmt: skip
        except DeviceError as error:
            found.append({"device": kind, "kind": "none", "unusable": error.message})
    for number in range(SIMULATED):
        found.append(
            {"device": f"sim:{number}", "kind": "sim", "name": f"simulated GPU {number}", "arithmetic": "fp64"}
        )
    return found

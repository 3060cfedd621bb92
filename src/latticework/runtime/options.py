"""Options of machines: device, threads, memory."""

from __future__ import annotations

from dataclasses import replace

from latticework.errors import UserError
from latticework.errors.whole_numbers import whole_number
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.amounts import parse_bytes
from latticework.runtime.devices.device import Device, Places, as_device, as_devices, contexts_on, free_memory_of
from latticework.values.extension import _core

MAX_THREADS = 1024


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """The place of a server's computation: a device and its budget.

    device  None: on the host
    memory  bytes for all that it holds there; None: no budget was given
    """

    device: Device | None
    memory: int | None

    @property
    def is_capped(self) -> bool:
        """Whether it has a part of a device's memory, and no more."""
        return self.device is not None and self.memory is not None

    @property
    def records(self) -> bool:
        """Whether runs are recorded there."""
        return self.device is not None and self.device.records

    def contexts(self, chain: ModulusChain, threads: int) -> list[_core.Context]:
        """Open a context for each plaintext modulus of these parameters; errors as of `open_contexts`."""
        if self.device is None or self.memory is None:
            return open_contexts(chain, self.device, threads)
        return open_contexts(chain, replace(self.device, memory=self.memory), threads, is_apart=True)

    def left_bytes(self, *, is_trimmed: bool = False) -> int:
        """Memory that the device has left, of that which may be used; is_trimmed as of `free_memory_of`."""
        assert self.device is not None
        return free_memory_of(self.device, is_trimmed=is_trimmed)


def places_of(device: Places, memory: str | int | None) -> tuple[ServerPlace, ...]:
    """The places of a server, each with its budget, at most what a `Device` says; errors as of `as_devices`."""
    budget = None if memory is None else parse_bytes(memory)
    found = []
    for one in as_devices(device):
        bounds = [budget, *([] if one is None or one.memory is None else [int(one.memory)])]
        found.append(ServerPlace(one, None if budget is None else min(bound for bound in bounds if bound is not None)))
    return tuple(found)


def open_context(chain: ModulusChain, device: str | Device | None, threads: int) -> _core.Context:
    """The core's context for these parameters on a device, where any plaintext modulus does; errors as of
    `open_contexts`."""
    return open_contexts(replace(chain, more_plain_moduli=()), device, threads)[0]


def open_contexts(
    chain: ModulusChain, device: str | Device | None, threads: int, *, is_apart: bool = False
) -> list[_core.Context]:
    """The core's contexts for these parameters on a device, one a plaintext modulus; is_apart as of `contexts_on`.

    raises  UserError for what is no device, or a number of threads that is none; DeviceError for a device that cannot
            be used
    """
    place = as_device(device)
    count = whole_number(threads)
    if count is None or not 0 <= count <= MAX_THREADS:
        raise UserError(f"threads={threads!r}; give a whole number from 1 to {MAX_THREADS}, or 0 for one per core")
    return contexts_on(chain, place, count, is_apart=is_apart)


def check_readers(readers: int) -> int:
    """A number of threads that read keys."""
    count = whole_number(readers)
    if count is None or not 0 <= count <= MAX_THREADS:
        raise UserError(f"key_readers={readers!r}; give a whole number from 0 to {MAX_THREADS}; one is usually enough")
    return count

"""Where a program is done with a device for a while: all work is waited for, and unused memory given back."""

from __future__ import annotations

import gc
from typing import Self

from latticework import _core
from latticework.devices.device import Device, as_device
from latticework.errors import UserError
from latticework.words.shown import describe, size


class frame:
    """`with lw.frame("cuda") as f:` waits, at its end, for all work on a device, frees what nobody refers to any more,
    gives unused memory back to the driver, and says what was held. Nothing needs it: memory is used again without.

    held    bytes that were held of the device's memory at the end, before anything was given back
    freed   bytes that were given back
    kept    bytes of values, keys and tables that are still in use
    raises  UserError for what is no device; at the end DeviceError for work that failed
    """

    def __init__(self, device: str | Device) -> None:
        place = as_device(device)
        if place is None:
            raise UserError("frame: the host's memory needs no frame; name a device, as 'cuda' or 'sim'")
        self._kind, _separator, number = place.name.partition(":")
        self._number = int(number)
        self._failures = 0  # there were before
        self.held = self.freed = self.kept = 0

    def __enter__(self) -> Self:
        self._failures = _core.settle_device(self._kind, self._number)[1]
        return self

    def __exit__(self, *_: object) -> None:
        self.held, failures = _core.settle_device(self._kind, self._number)
        gc.collect()
        self.kept = _core.settle_device(self._kind, self._number, trim=True)[0]
        self.freed = self.held - self.kept
        if failures > self._failures:
            _core.check_device(self._kind, self._number)

    def __repr__(self) -> str:
        said = f"held {size(self.held)}", f"freed {size(self.freed)}", f"kept {size(self.kept)}"
        return describe("frame", f"{self._kind}:{self._number}", *said)

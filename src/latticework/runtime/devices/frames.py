"""Release of a device for a while: all work is waited for, and unused memory given back."""

from __future__ import annotations

import gc
from typing import Self

from latticework.errors import UserError
from latticework.errors.shown import describe, size
from latticework.runtime.devices.device import Places, as_devices, names_of
from latticework.values.extension import _core


class frame:
    """`with lw.frame("cuda") as f:` waits, at its end, for all work on a device, frees what nobody refers to any more,
    gives unused memory back to the driver, and says what was held. Nothing needs it: memory is used again without.

    held    bytes that were held of the device's memory at the end, before anything was given back
    freed   bytes that were given back
    kept    bytes of values, keys and tables that are still in use
    raises  UserError for what is no device; at the end DeviceError for work that failed

    Of several devices, as in `lw.frame("cuda:0,1")`, all of this is of all of them.
    """

    def __init__(self, device: Places) -> None:
        places = as_devices(device)
        self._places = [place for place in places if place is not None]
        if not self._places:
            raise UserError("frame: the host's memory needs no frame; name a device, as 'cuda' or 'sim'")
        self._name = names_of(places)
        self._failures = 0  # there were before
        self.held = self.freed = self.kept = 0

    def _settle(self, *, trim: bool = False) -> tuple[int, int]:
        """Bytes held of all devices, and how many of those that compute there failed."""
        found = [_core.settle_device(place._kind, place._number, trim=trim) for place in self._places]
        return sum(held for held, _ in found), sum(failures for _, failures in found)

    def __enter__(self) -> Self:
        self._failures = self._settle()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self.held, failures = self._settle()
        gc.collect()
        self.kept = self._settle(trim=True)[0]
        self.freed = self.held - self.kept
        if failures > self._failures:
            for place in self._places:
                _core.check_device(place._kind, place._number)

    def __repr__(self) -> str:
        said = f"held {size(self.held)}", f"freed {size(self.freed)}", f"kept {size(self.kept)}"
        return describe("frame", self._name, *said)

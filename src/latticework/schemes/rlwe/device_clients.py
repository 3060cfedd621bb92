"""Encryptors and decryptors on a device, where their owner asked for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from latticework.errors import UserError
from latticework.runtime.devices.device import Device, as_device
from latticework.schemes.rlwe.checks import fail
from latticework.schemes.rlwe.parameters import Params
from latticework.values.extension import _core

Made = TypeVar("Made")


class OnDevice(Generic[Params, Made]):
    """Something with a secret in the memory of a device: made at once, and again after the device failed."""

    def __init__(self, parameters: Params, place: Device, make: Callable[[_core.Context], Made]) -> None:
        self.place = place
        self._parameters, self._make = parameters, make
        self._made = self._build()

    def _build(self) -> tuple[Params, Made]:
        there = self._parameters._at(self.place)
        return there, self._make(there.context)

    def get(self) -> tuple[Params, Made]:
        """The parameters there, and what was made for them."""
        if self._parameters._at(self.place) is not self._made[0]:
            self._made = self._build()
        return self._made


def draw_seeds(seed: bytes | None) -> Iterator[bytes | None]:
    """Seeds of tests for what is made again and again, all different; None for None."""
    while True:
        yield seed
        seed = None if seed is None else bytes(_core.blake3(b"made again: " + seed))


def place_client(who: str, parameters: Any, device: str | Device | None) -> Device | None:
    """The device that a client is to work on; None: on the host, as it does unless it is asked."""
    place = as_device(device)
    own = parameters._place
    if place is not None and own not in (None, place):
        fail(
            UserError,
            f"{who}: device={place.name!r}, and the parameters are on {own.name!r} (or have other options): "
            "give parameters of the host, or the same lw.Device to both",
        )
    return place

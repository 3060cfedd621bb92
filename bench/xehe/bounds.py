"""What no kernel can go below, from the rates of the device: bytes that have to move, over its copy bandwidth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.reports import Row, rounded
from bench.xehe.place import HOST, Place
from bench.xehe.rates import Rates, rates

TARGETS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("targets.json").read_text())["times"]
WORD_BYTES = 8
FACTORS = {"s": 1.0, "ms": 1e3, "us": 1e6}


@dataclass(frozen=True)
class Switch:
    """The sizes of a key switch: limbs of the ciphertext, of P, and the digits of the ciphertext's last polynomial."""

    log_degree: int
    limbs: int
    special: int
    digits: int

    @property
    def key(self) -> int:
        """Limbs of a key, and of all digits extended twice over."""
        return 2 * self.digits * (self.limbs + self.special)

    @property
    def extra(self) -> int:
        """Limbs of digits and sums, written once and read once."""
        return self.key + 4 * (self.limbs + self.special)

    def product(self, *, operands: int = 2, dropped: int = 1) -> list[float]:
        """Bytes of a product that is relinearised, and `dropped` limbs lower: operands, key and result; with digits and
        sums. operands: 1 of a square.
        """
        least = 2 * operands * self.limbs + self.key + 2 * (self.limbs - dropped)
        return self._bytes(least, least + self.extra)

    def rotation(self) -> list[float]:
        """The same of a rotation."""
        least = 4 * self.limbs + self.key
        return self._bytes(least, least + self.extra)

    def one_more(self) -> list[float]:
        """Bytes of one more rotation by digits that are there: key and result; with digits and sums."""
        least = self.key + 2 * self.limbs
        return self._bytes(least, least + self.extra - self.key // 2)

    def transforms(self, dropped: int = 0) -> int:
        """Transforms of one limb in a key switch that also divides by the last `dropped` primes."""
        extended = self.digits * (self.limbs + self.special) - self.limbs
        return self.limbs + extended + 2 * (self.special + dropped) + 2 * (self.limbs - dropped)

    def _bytes(self, *limbs: int) -> list[float]:
        return [float(WORD_BYTES * count << self.log_degree) for count in limbs]


def transform_bytes(log_degree: int, passes: int) -> float:
    """Of one limb, read and written in each pass."""
    return float(2 * WORD_BYTES * passes << log_degree)


def bounded(
    place: Place, case: str, seconds: float, moved: list[float], unit: str = "us", *, name: str = "",
    bandwidth: str = "copy", host: float | None = None, checked: bool = False, **details: Any,
) -> Row:  # fmt: skip
    """A time beside its bounds and the host's time.

    moved  bytes that have to move at least, and more as less of it stays in caches
    name   of its target, if there is one
    host   seconds
    """
    found = rates(place)
    assert isinstance(found, Rates), "times are of devices whose rates are known"
    factor, target = FACTORS[unit], TARGETS.get(name, {})
    limits = [rounded(factor * count / getattr(found, bandwidth)) for count in moved]
    share = rounded(moved[0] / getattr(found, bandwidth) / seconds) if moved else None
    parts = [f"bounds {', '.join(map(str, limits))} {unit}: {share} of the least is reached" if limits else None,
             f"wanted {target['aim']} {unit}" if "aim" in target else None]  # fmt: skip
    return Row(
        case, "time", unit, factor * seconds, None if host is None else factor * host, None if host is None else HOST,
        target=target.get("must"), checked=checked, note="; ".join(filter(None, parts)) or None,
        details={"bounds": limits, "share of the least": share, "aim": target.get("aim")} | details,
    )  # fmt: skip

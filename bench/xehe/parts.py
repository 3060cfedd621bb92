"""What is measured, by name and in order; and under which conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from bench.reports import Row, rounded
from bench.xehe import bootstraps, ladder, matrices, networks, operations, rates, routines
from bench.xehe.place import COUNTED, Place
from bench.xehe.published import TABLES
from latticework.runtime.devices.device import devices

Part = Callable[[Place], Iterator[Row]]
PARTS: Mapping[str, Part] = {
    "rates": rates.rows,
    "ladder": ladder.rows,
    "routines": routines.rows,
    "matrices": matrices.rows,
    "operations": operations.rows,
    "bootstraps": bootstraps.rows,
    "networks": networks.rows,
}


def conditions(place: Place) -> dict[str, Any]:
    """Of all rows."""
    measured = rates.rates(place)
    (said,) = (found for found in devices() if found["device"] == place.device.name)
    return {
        "device": {name: value for name, value in said.items() if name != "free"},
        "arithmetic": place.device.arithmetic,
        "times": "wall, of stretches of calls that are waited for at their end; medians" if place.is_timed else COUNTED,
        "rates": None if measured is None else {name: rounded(value) for name, value in asdict(measured).items()},
        "bounds": "bytes that have to move, over the copy bandwidth of this run",
        "second tile": ladder.TWO_QUEUES,
        "published": TABLES["source"],
        "checked": "results are those of the host: transforms and operations the same bytes, products of matrices and "
                   "networks by their numbers",
    }  # fmt: skip

"""What a run takes with the network: bytes sent and received, and whole times on the paper's LAN and WAN."""

from __future__ import annotations

from collections.abc import Iterator

from bench.rotom.measuring import Measured
from bench.rows import Row
from latticework.plan.cost.networks import NETWORKS


def network_rows(case: str, found: Measured) -> Iterator[Row]:
    """Rows of one program: inputs as the client sends them and results as it gets them, in files, then whole times.

    Whole is the run, as predicted on one thread where it was not run, and the time that the bytes take.
    """
    sent, received = found.moved_bytes
    yield Row(case, "sent", "MB", sent / 1e6, checked=found.is_right)
    yield Row(case, "received", "MB", received / 1e6, checked=found.is_right)
    run, note = found.seconds, None
    if run is None:
        run, note = found.cost.warm_seconds, "as predicted on one thread"
    for name, bits_a_second in NETWORKS.items():
        seconds = run + 8 * (sent + received) / bits_a_second
        yield Row(case, f"{name.upper()}, whole", "s", seconds, checked=found.is_right, note=note)

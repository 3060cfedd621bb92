"""Section on the cost for the owner of the data: making keys, encrypting, decrypting."""

from __future__ import annotations

from latticework.plan.cost import ClientCosts
from latticework.report.blocks import Head, Section, Table
from latticework.report.quantities import duration, size

_HEADS = (Head("step"), Head("time", True), Head("memory", True), Head("bytes", True))


def client_section(costs: ClientCosts) -> Section:
    """Make the section on what each step takes, and what it sends, gets or keeps."""
    steps = [
        ("making keys, once", costs.keygen_seconds, costs.keygen_bytes, costs.key_bytes, "to send"),
        ("encryption", costs.encrypt_seconds, costs.encrypt_bytes, costs.input_bytes, "to send"),
        ("decryption", costs.decrypt_seconds, costs.decrypt_bytes, costs.result_bytes, "to get"),
    ]
    rows = [(step, duration(s), size(memory), f"{size(moved)} {where}") for step, s, memory, moved, where in steps]
    rows.append(("client file", "", "", f"{size(costs.file_bytes)} to keep"))
    return Section(
        "Client", (Table(_HEADS, tuple(rows), data={"client": costs}),), "predicted for one thread and one run"
    )

"""A layout as a drawing: one cell a slot, coloured by the element it holds, hatched where it holds none.

Of more slots than fit, the first rows; below them whole vectors as pictures (`raster.py`).
"""

from __future__ import annotations

import re

import numpy as np

from latticework.errors.escaping import html_text
from latticework.report.quantities import count
from latticework.report.raster import colour, pictures
from latticework.values.packing.pack import PackMap

CELL = 10
GAP = 1
MAX_COLUMNS = 32
MAX_ROWS, FIRST_ROWS = 16, 6


def figure(layout: str, extents: str, tensors: str, words: str, pack: PackMap, identity: str) -> str:
    """A drawing below what it shows."""
    broken = re.sub(r"(?<=[\];)])", "<wbr>", html_text(layout))
    return (
        f'<figure><figcaption><span class="code">{broken}</span><br><span>{extents}</span> '
        f'<span class="soft">{html_text(tensors)}<br>{html_text(words)}</span></figcaption>'
        f"{slot_grid(pack, identity)}</figure>"
    )


def slot_grid(pack: PackMap, identity: str) -> str:
    """SVG of a layout's slots, row by row, and pictures of the vectors if those are not all.

    identity  part of the hatch pattern's name, unique on the page
    """
    columns = column_count(pack)
    total = pack.count * pack.slots  # vector after vector
    rows = -(-total // columns)
    if rows > MAX_ROWS:
        columns, rows = max(columns, MAX_COLUMNS // 2), FIRST_ROWS
    shown = min(total, rows * columns)
    element = pack.elements_at(np.arange(shown)).tolist()
    last, start = max(element), min((e for e in element if e >= 0), default=0)
    cells = []
    for slot, index in enumerate(element):
        x, y = (CELL + GAP) * (slot % columns), (CELL + GAP) * (slot // columns)
        fill = f'fill="url(#{identity})"' if index < 0 else f'fill="{colour((index - start) / max(last - start, 1))}"'
        holds = "no element" if index < 0 else f"element {_subscript(index, pack.shape)}"
        cells.append(
            f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" {fill}><title>slot {slot}: {holds}</title></rect>'
        )
    width, height = (CELL + GAP) * columns - GAP, (CELL + GAP) * rows - GAP
    hatch = (
        f'<defs><pattern id="{identity}" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="pad" width="5" height="5"/>'
        '<line class="hatch" x1="0" y1="0" x2="0" y2="5"/></pattern></defs>'
        if -1 in element
        else ""
    )
    label = html_text(f"slots of layout {pack}")
    rest = f'<p class="soft">first {count(shown)} slots</p>' if shown < total else ""
    rest += pictures(pack) if shown < total else ""
    return (
        f'<svg viewBox="0 0 {width} {height}" style="width:100%;max-width:{width}px" role="img" '
        f'aria-label="{label}">{hatch}{"".join(cells)}</svg>{rest}'
    )


def column_count(pack: PackMap) -> int:
    """Cells in a row: the innermost dimensions that fit, so that repeats and outer axes start new rows."""
    columns = 1
    for dim in reversed(pack.dims):
        if columns * dim.extent > MAX_COLUMNS:
            return columns if columns >= MAX_COLUMNS // 4 else MAX_COLUMNS
        columns *= dim.extent
    return columns


def _subscript(index: int, shape: tuple[int, ...]) -> str:
    found: list[int] = []
    for extent in reversed(shape):
        index, digit = divmod(index, extent)
        found.insert(0, digit)
    return str(found)

"""A layout as a picture: one cell a slot, coloured by the element it holds, hatched where it holds none."""

from __future__ import annotations

from latticework.plan.pack import PackMap
from latticework.report.markup import escape
from latticework.report.quantities import count

CELL = 10
GAP = 1
MAX_COLUMNS = 32
MAX_ROWS = 16
# From a deep blue over green to a light yellow: lightness rises with the index, so order shows without hue too.
RAMP = ((68, 85, 140), (58, 118, 145), (62, 150, 138), (112, 178, 112), (176, 199, 92), (233, 214, 107))


def slot_grid(pack: PackMap, identity: str) -> str:
    """SVG of a layout's slots, row by row, and what is not shown.

    identity  part of the hatch pattern's name, unique on the page
    """
    columns = column_count(pack)
    total = pack.count * pack.slots  # vector after vector
    rows = min(MAX_ROWS, -(-total // columns))
    shown = min(total, rows * columns)
    element = pack.element_of_slot()[:shown].tolist()
    last = max(*element, 1)
    cells = []
    for slot, index in enumerate(element):
        x, y = (CELL + GAP) * (slot % columns), (CELL + GAP) * (slot // columns)
        fill = f'fill="url(#{identity})"' if index < 0 else f'fill="{colour(index / last)}"'
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
    label = escape(f"slots of layout {pack}")
    rest = f'<p class="soft">first {count(shown)} of {count(total)} slots</p>' if shown < total else ""
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


def colour(position: float) -> str:
    """A colour of the ramp, for a position from 0 to 1."""
    place = min(max(position, 0.0), 1.0) * (len(RAMP) - 1)
    left = min(int(place), len(RAMP) - 2)
    mixed = (round(a + (place - left) * (b - a)) for a, b in zip(RAMP[left], RAMP[left + 1], strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _subscript(index: int, shape: tuple[int, ...]) -> str:
    found: list[int] = []
    for extent in reversed(shape):
        index, digit = divmod(index, extent)
        found.insert(0, digit)
    return str(found)

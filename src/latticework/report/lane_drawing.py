"""A schedule as a drawing: time downwards, lanes to the right, one cell for every value that is read.

A cell is coloured by what makes it. A rotation is drawn as arrows from the lanes its values come from; a merge shows in
two tones which of its operands a lane is taken from. Horizontal lengths are percentages and vertical ones pixels, so
that the drawing fills any width and its text keeps its size.
"""

from __future__ import annotations

from itertools import pairwise

from latticework.errors.escaping import html_text
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.circuit_schedule import CircuitRecord, LaneStep
from latticework.report.circuit_words import step_text

GUTTER = 172
HEAD = 20
CELL = 16
ROW = 20
SHIFT = 20  # room for the arrows of a rotation, above its cells
BREAK = 7  # between stages
LEAST, MOST = 24, 72  # pixels of a lane where there is room
NARROWEST = 470  # pixels that all lanes have on a small page
CHARACTER = 6.1
MAX_SAID = 26  # characters of an instruction beside its row

# What a row is: classes of its colour (of a legend's dot), and its name.
KINDS = {
    "input": ("b-input", "input"),
    "mul": ("b-product", "product"),
    "add": ("b-add", "sum"),
    "sub": ("b-add", "difference"),
    "neg": ("b-add", "negation"),
    "rotate": ("b-switch", "rotation"),
    "mask": ("b-plain", "mask"),
    "merge": ("b-merge", "merge of two vectors, the second one lighter"),
    "mul_constant": ("b-encode", "product with public numbers"),
    "add_constant": ("b-encode", "sum with public numbers"),
}
_GLYPHS = {"mul": "\N{MULTIPLICATION SIGN}", "add": "+", "sub": "\N{MINUS SIGN}", "neg": "\N{MINUS SIGN}"}


@dataclass(frozen=True)
class _Columns:
    """The drawing's columns: lanes in use, side by side."""

    number: dict[int, int]

    @property
    def count(self) -> int:
        return max(len(self.number), 1)

    def left_edge(self, lane: int) -> str:
        return f"{100 * self.number[lane] / self.count:.3f}%"

    def middle(self, lane: int) -> str:
        return f"{100 * (self.number[lane] + 0.5) / self.count:.3f}%"

    @property
    def width(self) -> str:
        return f"{100 / self.count:.3f}%"

    def fits(self, text: str) -> bool:
        """Whether a text can stand in a cell even on a small page."""
        return len(text) * CHARACTER + 4 <= NARROWEST / self.count


def drawing(circuit: CircuitRecord, first: int, last: int) -> str:
    """HTML with two SVGs of the instructions from `first` to before `last`: what they say, and their lanes."""
    lanes = _in_order(circuit)
    columns = _Columns({lane: i for i, lane in enumerate(lanes)})
    said: list[str] = []
    cells = _head(columns)
    y = HEAD
    for number in range(first, last):
        step = circuit.steps[number]
        if number > first and step.stage != circuit.steps[number - 1].stage:
            cells.append(f'<line class="rule" x1="0" x2="100%" y1="{y + BREAK / 2 - 1}" y2="{y + BREAK / 2 - 1}"/>')
            y += BREAK
        if step.op == "rotate":
            cells += _arrows(circuit, step, columns, y)
            y += SHIFT
        said.append(_draw_caption(step_text(number, step), y))
        cells += _cells(circuit, step, columns, y)
        y += ROW
    if last == len(circuit.steps) == circuit.num_steps:
        y += BREAK
        for register, named in _ends(circuit).items():
            said.append(_draw_caption(f"result v{register}", y))
            cells += [_cell(columns, lane, y, "f-end", name, name) for lane, name in named if lane in columns.number]
            y += ROW
    most = columns.count * _lane_pixels(circuit)
    label = f"instructions {first} to {last - 1} of the schedule, lane by lane"
    return (
        f'<div class="lanes"><svg width="{GUTTER}" height="{y}">{"".join(said)}</svg>'
        f'<svg width="100%" height="{y}" style="max-width:{most}px" role="img" aria-label="{label}">'
        f"{''.join(cells)}</svg></div>"
    )


def _in_order(circuit: CircuitRecord) -> list[int]:
    """Lanes in use; those at the end stand before the first ones if all lie in one half, as rotations go round."""
    lanes = sorted({lane for step in circuit.steps for lane, _ in step.lanes})
    gap, after = max(((b - a, i) for i, (a, b) in enumerate(pairwise(lanes), start=1)), default=(0, 0))
    return lanes[after:] + lanes[:after] if 2 * gap >= circuit.width else lanes


def _lane_pixels(circuit: CircuitRecord) -> int:
    """Pixels of a lane on a wide page: room for the names of inputs and outputs."""
    names = [name for name, _, _ in circuit.outputs]
    names += [circuit.labels[label] for step in circuit.steps if step.op == "input" for _, label in step.lanes]
    return round(min(max((len(n) for n in names), default=0) * CHARACTER + 12, MOST) if names else LEAST) + LEAST // 4


def _head(columns: _Columns) -> list[str]:
    """Numbers of lanes, thinned out where they are narrow, and a mark where lanes that are not in use are left out."""
    lanes = list(columns.number)
    longest = max((len(str(lane)) for lane in lanes), default=1)
    every = max(1, -(-int((longest * 7 + 6) * columns.count) // NARROWEST))
    parts = [f'<text x="{columns.middle(lane)}" y="12" text-anchor="middle">{lane}</text>' for lane in lanes[::every]]
    for before, lane in pairwise(lanes):
        if lane != before + 1 and lane > before:
            parts.append(
                f'<line class="gap" x1="{columns.left_edge(lane)}" x2="{columns.left_edge(lane)}" y1="2" y2="100%"/>'
            )
    return parts


def _draw_caption(text: str, y: int) -> str:
    shown = text if len(text) <= MAX_SAID else text[: MAX_SAID - 1] + "…"
    return f'<text class="said" x="0" y="{y + 12}"><title>{html_text(text)}</title>{html_text(shown)}</text>'


def _cells(circuit: CircuitRecord, step: LaneStep, columns: _Columns, y: int) -> list[str]:
    ours = {n for n, _ in circuit.steps[step.left].lanes} if step.op == "merge" and step.left >= 0 else set()
    colour = KINDS.get(step.op, ("b-other", ""))[0].replace("b-", "f-", 1)
    found = []
    for lane, label in step.lanes:
        text = circuit.labels[label] if label >= 0 else "0" if step.op == "input" else ""
        shown = text if step.op == "input" else _GLYPHS.get(step.op, "")
        other = " other" if step.op == "merge" and lane not in ours else ""
        found.append(_cell(columns, lane, y, colour + other, shown, text))
    return found


def _cell(columns: _Columns, lane: int, y: int, classes: str, shown: str, text: str) -> str:
    inside = ""
    if shown and columns.fits(shown):
        inside = f'<text class="in" x="{columns.middle(lane)}" y="{y + 12}">{html_text(shown)}</text>'
    return (
        f"<g><title>lane {lane}: {html_text(text)}</title>"
        f'<rect class="cell {classes}" x="{columns.left_edge(lane)}" y="{y}" '
        f'width="{columns.width}" height="{CELL}" rx="2"/>{inside}</g>'
    )


def _arrows(circuit: CircuitRecord, step: LaneStep, columns: _Columns, y: int) -> list[str]:
    """Draw arrows from the lanes that values come from to those they go to; heads are drawn, as markers need names."""
    found = []
    for lane, _ in step.lanes:
        source = (lane + step.steps) % circuit.width
        if source not in columns.number:
            continue
        start, end = columns.middle(source), columns.middle(lane)
        found.append(
            f'<line class="arrow" x1="{start}" y1="{y - 1}" x2="{end}" y2="{y + SHIFT - 3}"/>'
            f'<circle class="tail" cx="{start}" cy="{y - 1}" r="2"/>'
            f'<svg class="tip" x="{end}" y="{y + SHIFT - 5}"><path class="tail" d="M-4 0h8l-4 5z"/></svg>'
        )
    return found


def _ends(circuit: CircuitRecord) -> dict[int, list[tuple[int, str]]]:
    registers: dict[int, list[tuple[int, str]]] = {}
    for name, register, lane in circuit.outputs:
        registers.setdefault(register, []).append((lane, name))
    return registers

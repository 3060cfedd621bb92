"""What compiled programs cost: the figures that every suite of programs prints, and where in a program they arise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from latticework.plan.analysis.estimate import CostEstimate, count_operations
from latticework.plan.analysis.step_prices import Step
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind
from latticework.plan.schema.schema import Plan, SourceLocation
from latticework.runtime.events import Event

COUNTS = {
    "rotations": "rotations",
    "hoists": "hoists",
    "ciphertext_products": "ct products",
    "plaintext_products": "pt products",
    "levels": "levels",
}
TIMES = ("predicted", "measured")


def figures(plan: Plan, cost: CostEstimate) -> list[tuple[str, str, float]]:
    """(metric, unit, value) of a plan, before it is run."""
    counts, manifest = cost.counts, plan.client.manifest
    return [
        ("encrypted input vectors", "", sum(i.pack.count for i in plan.client.secret_inputs)),
        ("rotations, hoisted ones included", "", counts.rotations),
        ("hoisted decompositions", "", counts.hoists),
        ("ciphertext products", "", counts.ciphertext_products),
        ("plaintext products", "", counts.plaintext_products),
        ("additions", "", counts.additions),
        ("keys", "", len(plan.keys)),
        ("keys stored", "MB", manifest.total_stored_bytes / 1e6),
        ("run, predicted on one thread", "s", cost.warm_seconds),
    ]


def facts(plan: Plan) -> dict[str, Any]:
    """Parameters and layouts of a plan."""
    return {
        "ring degree": plan.chain.ring_degree,
        "levels": plan.chain.main.top,
        "log2 QP": round(plan.chain.log2_qp, 1),
        "instructions": sum(1 for _ in plan.walk()),
        "layouts": [f"{name} {shape}: {layout}" for name, shape, layout in plan.layouts],
    }


@dataclass(frozen=True)
class Layer:
    """What one line of a program costs.

    layout     of the tensor that it leaves
    rotations  hoisted ones included;  hoists  decompositions that these share
    levels     from the highest that it reads to the lowest that it leaves
    predicted  seconds on one thread, constants encoded before;  measured  seconds, None if nobody looked
    """

    line: str
    where: str
    layout: str
    rotations: int
    hoists: int
    ciphertext_products: int
    plaintext_products: int
    levels: int
    predicted: float
    measured: float | None

    def content(self) -> dict[str, Any]:
        """As it is printed."""
        found = asdict(self)
        return found | {key: None if found[key] is None else round(found[key], 6) for key in ("predicted", "measured")}


def layers(plan: Plan, cost: CostEstimate, measured: Mapping[int, float] | None = None) -> list[Layer]:
    """The lines of a program in the order in which they first run.

    measured  seconds by place in the outermost sequence of instructions
    Times of what is done for several lines are shared out; such an instruction is counted at the line with most of it.
    """
    lines: dict[SourceLocation, list[Step]] = {}
    predicted: dict[SourceLocation, float] = defaultdict(float)
    for step in cost.steps:
        shares = _shares(plan, step.location)
        lines.setdefault(max(shares, key=shares.__getitem__), []).append(step)
        for line, share in shares.items() if step.op != "encode" else ():
            predicted[line] += share * step.seconds
    seconds: dict[SourceLocation, float] = defaultdict(float)
    for place, instruction in enumerate(plan.blocks[0].code):
        for line, share in _shares(plan, instruction.location).items():
            seconds[line] += share * (0.0 if measured is None else measured.get(place, 0.0))
    left = {_line(plan, tensor.location): str(tensor.pack) for tensor in plan.tensors}
    found = []
    for line in dict.fromkeys([*lines, *predicted]):
        if line not in left:
            continue  # what belongs to no tensor: the end of the program
        steps = lines.get(line, [])
        counts = count_operations(steps)
        found.append(
            Layer(
                line.text.strip(),
                f"{line.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line.line}",
                left[line],
                counts.rotations,
                counts.hoists,
                counts.ciphertext_products,
                counts.plaintext_products,
                _levels(plan, steps),
                predicted[line],
                None if measured is None else seconds[line],
            )
        )
    return found


def _line(plan: Plan, location: int) -> SourceLocation:
    """The whole line of a location."""
    place = plan.locations[location]
    return SourceLocation(place.file, place.line, place.text)


def _shares(plan: Plan, location: int) -> dict[SourceLocation, float]:
    """The whole lines that share a location."""
    found: dict[SourceLocation, float] = defaultdict(float)
    for number, share in plan.shares(location):
        found[_line(plan, number)] += share
    return found


def _levels(plan: Plan, steps: list[Step]) -> int:
    read, written = [], []
    for step in steps:
        instruction = plan.blocks[step.block].code[step.index]
        for registers, levels in (
            ([operand.register for operand in instruction.operands], read),
            (instruction.results, written),
        ):
            kinds = (plan.kind(register) for register in registers)
            levels += [kind.level for kind in kinds if isinstance(kind, CipherKind | DigitsKind)]
    return max(read, default=0) - min(written, default=0) if read else 0


class Stopwatch:
    """Listens to a run: seconds by place in the outermost sequence of instructions."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}

    def __call__(self, event: Event) -> None:
        """Notes an instruction; one within a loop is part of the loop, which is reported after it."""
        place = event.done - 1
        if place >= 0 and place not in self.seconds:
            self.seconds[place] = event.end - event.start


def layer_table(title: str, found: list[dict[str, Any]]) -> Table:
    """The lines of a program for a reader."""
    shown = Table(title=title)
    for heading in ("where", "line", "layout of the result"):
        shown.add_column(heading, overflow="fold", max_width=60)
    for heading in (*COUNTS.values(), *TIMES):
        shown.add_column(heading, justify="right")
    for layer in found:
        times = ("" if layer[key] is None else f"{1e3 * layer[key]:.1f} ms" for key in TIMES)
        shown.add_row(layer["where"], layer["line"], layer["layout"], *(str(layer[key]) for key in COUNTS), *times)
    return shown

"""Text that an attacker would choose, planted in every field of a plan, and what shown text must not do with it."""

import dataclasses
from html.parser import HTMLParser

import numpy as np
import schedule_cases
from vec_cases import SLOTS, Vectors, line, plan_of, small_chain

from latticework.compiler.lanes.lane_record import record_lanes, scalar_counts
from latticework.plan.schema.arguments import Argument, Branch, Link, Result
from latticework.plan.schema.circuit_schedule import CircuitStrategy
from latticework.plan.schema.placement_record import ConversionRecord, LayoutRecord, ProgramLayout, TensorLayout
from latticework.plan.schema.schema import Approximation, Scores, SourceLocation, TensorValue

# Script in two ways, a terminal's colour and title, text turned around, a forged line, markup of rich, no Unicode.
HOSTILE = '<script>alert(1)</script>" onload="x\x1b[31m\x1b]0;t\x07\u202e\u2066\n\r[red]FORGED[/] & \x00\x9b\u2028'
KEPT = {"op", "kind", "scheme", "interface", "secret"}  # fields whose words the format fixes


def planted(value, field="", seen=None):
    """The same value with every text replaced, equal ones by equal ones."""
    seen = {} if seen is None else seen
    if isinstance(value, str):
        return value if field in KEPT else seen.setdefault(value, f"{HOSTILE}{len(seen)}")
    if dataclasses.is_dataclass(value):
        fields = {f.name: planted(getattr(value, f.name), f.name, seen) for f in dataclasses.fields(value) if f.init}
        return dataclasses.replace(value, **fields)
    if isinstance(value, tuple):
        return tuple(planted(item, field, seen) for item in value)
    if isinstance(value, dict):
        return {planted(key, "", seen): planted(item, "", seen) for key, item in value.items()}
    return value


def full_plan():
    """A plan with every part that one can have, the schedule of a circuit and a choice of layouts among them."""
    v = Vectors(1)
    y = v.op("mul", v.x[0], v.constant(np.arange(float(SLOTS))))
    plan = plan_of(v.done(v.matrix(y, np.eye(SLOTS, k=1))), small_chain(2))
    circuit, graph, result = schedule_cases.two_products()
    made = record_lanes(
        graph, result, method="found", names=circuit.names, groups=["x"], outputs=["y"],
        written=scalar_counts(graph.code), ways=[CircuitStrategy("found", 1.0, True), CircuitStrategy("other", 2.0, False)],
    )  # fmt: skip
    steps = (*made.steps[:-1], dataclasses.replace(made.steps[-1], op=HOSTILE))
    pack, elements = line(), tuple(range(SLOTS))
    moved = ConversionRecord("x", ("a", "b"), ("roll",), 0.5)
    step = TensorLayout("x", "input", 0, pack, "box", 1.0, 1, (moved,), "c", -1.0)
    client = dataclasses.replace(
        plan.client,
        arguments=(Argument("u", (SLOTS,), 0, elements, -1.0, 1.0, Link("before", "out", "00")),),
        results=(Result("r", (SLOTS,), (Branch("a", 0),), elements),),
    )
    return dataclasses.replace(
        plan,
        client=client,
        locations=tuple(SourceLocation("program.py", 3, "y = W @ x") for _ in plan.locations),
        tensors=(TensorValue(0, "y", 0, pack, 0.5),),
        approximations=(Approximation("relu", 0, -1.0, 1.0, 15, 0.1, True),),
        layouts=(("y", "(16,)", "[0:16]"),),
        placing=LayoutRecord(
            3, 1e9, (step, dataclasses.replace(step, operation="mul")), (ProgramLayout(1.0, 2, 3, True),)
        ),
        loss="relu of degree 15 is off by up to 0.1",
        scores=Scores("accuracy", 3, 0.5, 0.25),
        circuit=dataclasses.replace(made, formulas=("y = x * x",), steps=steps),
    )


def hostile_plan():
    """The same with an attacker's words for everything."""
    return planted(full_plan())


def is_harmless_text(text, *, lines=True):
    """Nothing that a terminal obeys, no line that the text begins, and markup as it was written."""
    parts = text.split("\n") if lines else [text]
    whole = "FORGED" not in text or "[red]FORGED" in text
    return whole and all(part.isprintable() and not part.lstrip().startswith("[red]") for part in parts)


class _Page(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found, self.text = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found += [tag, *(name for name, _ in attrs)]
        self.text += [value for _, value in attrs if value]

    def handle_data(self, data):
        self.text.append(data)


def is_harmless_page(page):
    """No element or attribute that runs code, and text that is printable wherever it stands."""
    parsed = _Page(page)
    runs = [name for name in parsed.found if name in ("script", "iframe", "img") or name.startswith("on")]
    return not runs and all(line.isprintable() for text in parsed.text for line in text.split("\n"))

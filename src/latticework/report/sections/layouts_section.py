"""Layouts: where the elements of tensors lie in the slots of ciphertexts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import Plan
from latticework.report.blocks import Drawing, Section, Words
from latticework.report.layout_words import LEGEND, first_slots, layout_words
from latticework.report.quantities import shape
from latticework.report.slot_grid import figure
from latticework.report.text_table import wrap_below
from latticework.values.packing.pack import PackMap

_SAID = "Slots row by row, coloured from the first to the last element shown; hatched or empty ones hold none."


@dataclass(frozen=True, slots=True)
class LayoutGroup:
    """Tensors that are laid out alike."""

    tensors: tuple[str, ...]
    shape: tuple[int, ...]
    layout: str
    pack: PackMap

    def data(self) -> dict[str, object]:
        """The group's JSON form."""
        words = layout_words(self.pack)
        return {"layout": self.layout, "words": words, "shape": self.shape, "tensors": self.tensors}


def layout_section(groups: Sequence[LayoutGroup]) -> Section:
    """A drawing of each; in words, its loops and what its first slots hold."""
    drawn = "".join(
        figure(g.layout, shape(g.shape), ", ".join(g.tensors), layout_words(g.pack), g.pack, f"lw-hatch-{i}")
        for i, g in enumerate(groups)
    )
    lines = tuple(line for group in groups for line in _describe_group(group))
    html = f'<p class="soft">{_SAID}</p><div class="grids">{drawn}</div>' if groups else ""
    drawing = Drawing(html, lines, data={"layouts": [g.data() for g in groups]})
    return Section("Layouts" if groups else "", (Words((LEGEND,) if groups else (), "soft"), drawing))


def _describe_group(group: LayoutGroup) -> Iterator[str]:
    yield plain_text(f"{group.layout}  holds {', '.join(group.tensors)}: {shape(group.shape)}")
    yield from wrap_below(layout_words(group.pack))
    yield f"    slots: {first_slots(group.pack)}"


def layout_groups(plan: Plan) -> tuple[LayoutGroup, ...]:
    """Layouts in order of first appearance, each with the tensors that have it; not tables of single places."""
    named = [(spec.name, spec.pack) for spec in plan.client.secret_inputs]
    named += [(tensor.name, tensor.pack) for tensor in plan.tensors]
    named += [(step.name, step.pack) for step in (() if plan.placing is None else plan.placing.steps)]
    labels = plan.client.output_labels
    named += [(labels[output.name], output.pack) for output in plan.client.outputs]
    tensors: dict[PackMap, list[str]] = defaultdict(list)
    for name, pack in named:
        if not pack.table:
            tensors[pack].append(name)
    return tuple(
        LayoutGroup(tuple(dict.fromkeys(names)), pack.shape, str(pack), pack) for pack, names in tensors.items()
    )

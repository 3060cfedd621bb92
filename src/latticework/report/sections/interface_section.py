"""Inputs and outputs: what a program takes and gives, and how far results may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Annotated, Any

from latticework.lazy_dataclass import dataclass
from latticework.plan.cost.client_cost import stored_bytes
from latticework.plan.schema.conditions import condition_words
from latticework.plan.schema.schema import ClientSpec, IndexInput, SecretInput
from latticework.report.blocks import Cell, Section, Table, Words
from latticework.report.figure_labels import Column, Within, number, table
from latticework.report.layout_words import LEGEND, layout_words
from latticework.report.quantities import as_digits, bits_text, count, real, relative_bits, shape, size, small


def _name_cell(text: str) -> Cell:
    return Cell(text, "code")


def _lying(row: InputRow | OutputRow) -> Cell:
    return Cell(row.layout, "layout", (("", row.words, "soft"),) if row.words else ())


def _slots(row: InputRow | OutputRow) -> str:
    """Slots of a vector, and how many vectors if there are several."""
    if not row.slots:
        return ""
    return count(row.slots) if row.vectors == 1 else f"{count(row.vectors)} \N{MULTIPLICATION SIGN} {count(row.slots)}"


def _span(row: InputRow) -> str:
    if row.low is None or row.high is None:
        return "any" if row.limit is None else f"0 to {count(row.limit)}"
    return _range_words(row.low, row.high, row.bits)


@dataclass(frozen=True, slots=True)
class InputRow:
    """One input; a public integer has a limit only.

    low, high  of what users give
    words      the layout in a sentence
    bits       binary digits of every number, which are what is encrypted; 0: the numbers are
    """

    name: Annotated[str, Column("input", _name_cell)]
    shape: Annotated[tuple[int, ...], Column("shape", row=_shape)]
    layout: Annotated[str, Column("layout", row=_lying)]
    slots: Annotated[int, Column("slots", row=_slots, number=True)]
    level: Annotated[int | None, number("level", lambda level: "" if level is None else str(level))]
    low: Annotated[float | None, Column("range accepted", row=_span, number=True)]
    high: Annotated[float | None, Within("low")]
    limit: Annotated[int | None, Within("low")]
    bytes: Annotated[int, number("sent", lambda held: size(held) if held else "")]
    vectors: Annotated[int, Within("slots")] = 1
    words: Annotated[str, Within("layout")] = ""
    bits: Annotated[int, Within("low")] = 0


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """A value that users give to a circuit, where ciphertexts hold several of them, or other names than theirs.

    input  that holds it; "" where nothing reads it
    bits   binary digits of every number, which are what is encrypted; 0: the numbers are
    """

    name: Annotated[str, Column("value given", _name_cell)]
    shape: Annotated[tuple[int, ...], Column("shape", lambda extents: Cell(shape(extents), "formula"))]
    input: Annotated[str, Column("in input", lambda name: _name_cell(name) if name else "nothing reads it")]
    low: Annotated[float, Column("range accepted", row=_argument_span, number=True)]
    high: Annotated[float, Within("low")]
    bits: Annotated[int, Within("low")] = 0


def _argument_span(row: ArgumentRow) -> str:
    return _range_words(row.low, row.high, row.bits)


def _range_words(low: float, high: float, bits: int) -> str:
    return f"{real(low)} to {real(high)}{as_digits(bits)}"


def _shape(row: InputRow) -> Cell | str:
    return Cell(shape(row.shape), "formula") if row.slots else "public integer"


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One output with its predicted error.

    error_bound of the noise model; for every accepted input if `is_proved`, else for inputs like those of calibration
    usual_error the bound for inputs like those of calibration
    shift       what approximating functions changed at most, in calibration
    approximation  part of `usual_error` that approximating functions takes
    worst_case  what noise cannot exceed for any accepted input; None if unknown (a client file holds no code)
    words       the layout in a sentence
    conditions  what has to hold for the bound, beside that the input is accepted, in words
    budget_bits of an exact output: bits by which the noise is expected to stay below what would make it wrong
    """

    name: Annotated[str, Column("output", _name_cell)]
    shape: Annotated[tuple[int, ...], Column("shape", lambda extents: Cell(shape(extents), "formula"))]
    layout: Annotated[str, Column("layout", row=_lying)]
    slots: Annotated[int, Column("slots", row=_slots, number=True)]
    level: Annotated[int, number("level")]
    bytes: Annotated[int, number("sent", size)]
    error_bound: Annotated[float, Within("usual_error")]
    magnitude: Annotated[float, Within("usual_error")]
    shift: Annotated[float, Within("usual_error")]
    worst_case: Annotated[float | None, Within("usual_error")]
    vectors: Annotated[int, Within("slots")] = 1
    budget_bits: Annotated[float | None, Within("usual_error")] = None
    usual_error: Annotated[float, Column("error", row=errors_cell)] = 0.0
    is_proved: Annotated[bool, Within("usual_error")] = False
    words: Annotated[str, Within("layout")] = ""
    approximation: Annotated[float, Within("usual_error")] = 0.0
    conditions: Annotated[str, Within("usual_error")] = ""


def errors_cell(output: OutputRow, *, is_exact: bool = False) -> Cell:
    """All that is known of an output's error."""
    if is_exact:
        left = "not known" if output.budget_bits is None else f"{output.budget_bits:.0f} bits"
        error = f"none, which {output.conditions}" if output.conditions else "none"
        return Cell("", asides=(("error", error, ""), ("noise budget left", left, "")))
    usual = f"at most {small(output.usual_error)}{_bits_right(output.usual_error, output.magnitude)}"
    proved = f"at most {small(output.error_bound)}" if output.is_proved else "not proved"
    rows = [
        ("error, for inputs like those of calibration", usual),
        ("error, for every accepted input", proved),
        ("error, by the worst noise", worst_case(output)),
    ]
    if output.conditions:
        rows.insert(2, ("this bound", output.conditions))
    if output.approximation:
        part = f"up to {small(output.approximation)}, and {small(output.shift)} on the calibration data"
        rows.insert(1, ("of it by approximating functions", part))
    return Cell("", asides=tuple((what, said, "") for what, said in rows))


def _bits_right(error: float, magnitude: float) -> str:
    bits = relative_bits(error, magnitude)
    return "" if bits is None else f" = {bits_text(bits)} of {real(magnitude)}"


def worst_case(output: OutputRow) -> str:
    """The worst-case error of an output, whatever the noise, where it says something."""
    if output.worst_case is None:
        return "not known"
    if not isfinite(output.worst_case) or output.worst_case >= output.magnitude > 0:
        return "no useful bound"
    return f"at most {small(output.worst_case)}"


def interface_section(
    inputs: Sequence[InputRow],
    arguments: Sequence[ArgumentRow],
    outputs: Sequence[OutputRow],
    *,
    is_exact: bool,
    explains: bool,
) -> Section:
    """The tables of inputs and outputs, and of circuits of the values that users give.

    is_exact  integers, whose ciphertexts have no levels that a user would know of
    explains  whether the notation of layouts is told here: no other section does
    """
    exact: dict[str, Column | None] = {"level": None} if is_exact else {}
    errors = Column("error", row=lambda output: errors_cell(output, is_exact=is_exact))
    given = table("inputs", InputRow, inputs, replaced=exact)
    blocks = (
        *((given, table("arguments", ArgumentRow, arguments)) if arguments else (_add_data(given, arguments=()),)),
        table("outputs", OutputRow, outputs, replaced=exact | {"usual_error": errors}),
        *((Words((LEGEND,), "soft"),) if explains else ()),
    )
    return Section("Inputs and outputs", blocks)


def _add_data(given: Table, **data: Any) -> Table:
    return replace(given, data={**given.data, **data})


def input_row(client: ClientSpec, spec: SecretInput | IndexInput) -> InputRow:
    """An input of a program, in the range that is told to users."""
    if isinstance(spec, IndexInput):
        return InputRow(spec.name, (), "", 0, None, None, None, spec.limit, 0)
    fresh = spec.pack.count * stored_bytes(client.chain, spec.level, 0, 1)
    of_input = client.secret_inputs.index(spec)
    spans = [(spec.low if a.low is None else a.low, spec.high if a.high is None else a.high, a.bits)
             for a in client.arguments if a.input == of_input]  # fmt: skip
    low, high, bits = spans[0] if len(set(spans)) == 1 else (spec.low, spec.high, 0)
    return InputRow(
        spec.name, spec.shape, str(spec.pack), spec.pack.slots, spec.level, low, high, None, fresh, spec.pack.count,
        layout_words(spec.pack), bits,
    )  # fmt: skip


def argument_rows(client: ClientSpec) -> tuple[ArgumentRow, ...]:
    """The values that users give to a circuit, in the ranges that are accepted; none where inputs are the same."""
    inputs = {number: spec for number, spec in enumerate(client.secret_inputs)}
    if [a.name for a in client.arguments] == [i.name for i in client.inputs]:
        return ()
    rows = []
    for a in client.arguments:
        spec = inputs.get(a.input)
        low, high = (-inf, inf) if spec is None else (spec.low, spec.high)
        span = (low if a.low is None else a.low, high if a.high is None else a.high)
        rows.append(ArgumentRow(a.name, a.shape, "" if spec is None else spec.name, *span, a.bits))
    return tuple(rows)


def output_rows(
    client: ClientSpec, worst_cases: Sequence[float | None], budgets: Sequence[float | None]
) -> tuple[OutputRow, ...]:
    """The outputs of a program, with what noise cannot exceed and the budgets to be expected, where they are known."""
    labels = client.output_labels.values()
    return tuple(
        OutputRow(
            name, o.shape, str(o.pack), o.pack.slots, o.level, o.pack.count * stored_bytes(client.chain, o.level, 0, 2),
            inf if any(each.modulus for each in o.conditions) else o.error_bound, o.magnitude, o.shift, worst,
            o.pack.count, budget, o.usual_error or o.error_bound, o.is_proved, layout_words(o.pack), o.approximation,
            condition_words(o.all_conditions),
        )
        for name, o, worst, budget in zip(labels, client.outputs, worst_cases, budgets, strict=True)
    )  # fmt: skip

"""The table of operators in docs/models.md, made from the converters; run as a script, it writes the table anew."""

from itertools import groupby
from pathlib import Path

from latticework.importers.converters import Converter
from latticework.importers.torch_door.operators import CONVERTERS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BEGIN, END = "<!-- operators of PyTorch -->", "<!-- end of operators of PyTorch -->"


def table() -> str:
    """Operators of one meaning in a row, without "aten." and ".default"."""
    rows = ["| operator | note |", "|---|---|"]
    for (_, note), alike in groupby(CONVERTERS, key=lambda c: (id(c.meaning), c.note)):
        rows.append(f"| {', '.join(f'`{_name(converter)}`' for converter in alike)} | {note} |")
    return "\n".join(rows)


def _name(converter: Converter) -> str:
    return converter.operator.removeprefix("aten.").removesuffix(".default")


def parts() -> tuple[str, str, str]:
    """The page before the table, the table, and the page after it."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    written, _, after = rest.partition(END)
    return before + BEGIN, written.strip(), END + after


if __name__ == "__main__":
    before, _, after = parts()
    PAGE.write_text(f"{before}\n{table()}\n{after}")
